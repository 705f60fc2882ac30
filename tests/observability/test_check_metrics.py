"""Metrics of access checks."""

from unittest.mock import Mock

import pytest
from django.db import OperationalError

from accounts.limits.redis_counters import fallbacks
from analytics.recording.outcomes import RETRY
from kit.telemetry.metrics import Histogram, families
from licensing.access.event_loop.gateway import Gateway
from tests import factories
from tests.client import ApiClient
from tests.observability.scrape import change, scrape, value
from tests.ways import GatewayClient

pytestmark = pytest.mark.django_db  # the sizes of tables are metrics

CHECK, BATCH = "/v1/access/check", "/v1/access/check/batch"
CHECKS = "licensing_access_checks_total"
STALE, POSTPONED_ONES = "licensing_recorder_stale_decisions_total", "licensing_recorder_postponed_decisions_total"


def body_for(item, **fields):
    return {"contentId": item.pk, "requester": factories.LICENSED_REQUESTER, **fields}


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "once"}])
def test_checks_are_counted_by_outcome(api, item, headers):
    def check(path, body, n):
        return api.post(path, body, headers={name: f"{text}{n}" for name, text in headers.items()})

    with change() as seen:
        check(CHECK, body_for(item), 1)
        check(CHECK, body_for(item, requester="org_acme"), 2)
        check(CHECK, body_for(item, dryRun=True), 3)
        check(CHECK, {"contentId": "cnt_none", "requester": "org_acme"}, 4)
        check(BATCH, {"checks": [body_for(item), body_for(item), {"contentId": "cnt_no", "requester": "x"}]}, 5)
    outcomes = {name: seen.of(CHECKS, outcome=name) for name in ("allowed", "no_license", "dry_run", "error")}
    assert outcomes == {"allowed": 3, "no_license": 1, "dry_run": 1, "error": 2}
    assert seen.of(CHECKS) == 7


def test_a_replay_is_no_new_check(api, item):
    with change() as seen:
        for _ in range(3):
            assert api.post(CHECK, body_for(item), headers={"Idempotency-Key": "again"}).status == 200
    assert (seen.of(CHECKS), seen.of("licensing_idempotent_replays_total")) == (1, 2)


def test_a_check_that_failed_was_not_answered(api, item, monkeypatch):
    api.post(CHECK, body_for(item))  # so that everything is cached
    failing = Mock(side_effect=OperationalError("gone"))
    monkeypatch.setattr(api.application.gateway.commits.write, "call", failing)
    with change() as seen:
        assert api.post(CHECK, body_for(item)).status == 503
    assert (seen.of(CHECKS), seen.of("licensing_recorder_failures_total")) == (0, 1)
    assert seen.of("licensing_refused_requests_total", way="gateway", status="503") == 1


@pytest.mark.parametrize("path", [CHECK, BATCH])
def test_each_check_falls_into_a_bucket_of_its_route_and_status(api, item, path):
    good = body_for(item) if path == CHECK else {"checks": [body_for(item)]}
    name = "licensing_access_check_duration_seconds"
    with change() as seen:
        api.post(path, good)
        api.post(path, good)
        api.post(path, {})
    assert seen.of(f"{name}_count", route=path, status="2xx") == 2
    assert seen.of(f"{name}_bucket", route=path, status="2xx", le="+Inf") == 2
    assert seen.of(f"{name}_count", route=path, status="4xx") == 1
    assert 0 < seen.of(f"{name}_sum", route=path) < 10


def test_the_buckets_of_a_histogram_are_cumulative():
    histogram = Histogram("test_sizes", "For this test.", (1, 2, 4))
    try:
        for size in (0.5, 1, 2, 3, 100):
            histogram.observe(0, size)
        samples = scrape()
    finally:
        del families["test_sizes"]
    assert [value(samples, "test_sizes_bucket", le=le) for le in ("1.0", "2.0", "4.0", "+Inf")] == [2, 3, 4, 5]
    assert (value(samples, "test_sizes_count"), value(samples, "test_sizes_sum")) == (5, 106.5)


def test_the_recorder_tells_of_its_commits(api, item):
    with change() as seen:
        api.post(BATCH, {"checks": [body_for(item)] * 5})
        api.post(CHECK, body_for(item))
    assert seen.of("licensing_recorder_commit_duration_seconds_count") == 2
    assert seen.of("licensing_recorder_batch_size_decisions_sum") == 6


def test_facts_are_missed_once_and_hit_then(api, item):
    with change() as first:
        api.post(CHECK, body_for(item))
    with change() as second:
        api.post(CHECK, body_for(item))
    lookups = "licensing_snapshot_lookups_total"
    assert (first.of(lookups, result="hit"), first.of(lookups, result="miss")) == (0, 3)  # key, item, requester
    assert (second.of(lookups, result="hit"), second.of(lookups, result="miss")) == (3, 0)


def test_a_decision_on_facts_that_changed_is_stale_once(api, item):
    api.post(CHECK, body_for(item))
    api.patch(f"/v1/content/{item.pk}", {"title": "Changed"})
    with change() as seen:
        assert api.post(CHECK, body_for(item)).status == 200
    assert (seen.of(STALE), seen.of(POSTPONED_ONES), seen.of(CHECKS)) == (1, 0, 1)


def test_a_decision_for_which_its_batch_had_no_room_is_postponed_and_not_stale(api, item, monkeypatch):
    gateway: Gateway = api.application.gateway
    write = gateway.commits.write

    async def have_no_room_once(entries):
        monkeypatch.setattr(gateway.commits, "write", write)
        return [RETRY] * len(entries)

    monkeypatch.setattr(gateway.commits, "write", have_no_room_once)
    with change() as seen:
        assert api.post(CHECK, body_for(item)).status == 200
    assert (seen.of(STALE), seen.of(POSTPONED_ONES), seen.of(CHECKS)) == (0, 1, 1)


def test_the_state_of_the_moment_is_noted(api, item):
    api.post(CHECK, body_for(item))
    gateway: Gateway = api.application.gateway
    gateway.commits.records.waiting = [("a request", None)] * 7  # type: ignore[list-item]
    gateway.note_state()
    samples = scrape()
    assert value(samples, "licensing_recorder_waiting_requests") == 7
    assert value(samples, "licensing_snapshot_entries") == 3


def test_refusals_are_counted_on_both_ways(api, account, application):
    powerless = GatewayClient(factories.key_text(account, permissions=[]), application)
    poor = factories.account(plan="enterprise", requests_per_minute=1, requests_per_day=1)
    limited = GatewayClient(factories.key_text(poor), application)
    for path, way in ((CHECK, "gateway"), ("/v1/policies", "django")):
        with change() as seen:
            GatewayClient(None, application).post(path, {})
            powerless.post(path, {})
            limited.post(path, {})
            limited.post(path, {})
        counts = {one: seen.of("licensing_refused_requests_total", way=way, status=one) for one in ("401", "403")}
        assert counts == {"401": 1, "403": 1}
        assert seen.of("licensing_refused_requests_total", way=way, status="429") >= 1


def test_fallbacks_of_the_limiter_have_their_name():
    with change() as seen:
        fallbacks.inc()
    assert seen.of("licensing_limiter_fallbacks_total") == 1


def test_other_endpoints_are_timed_by_the_template_of_their_path(account, item):
    name, client = "licensing_http_request_duration_seconds_count", ApiClient(factories.key_text(account))
    with change() as seen:
        client.get(f"/v1/content/{item.pk}")
        client.get("/v1/content/cnt_none")
        client.get("/v1/no/such/path")
        client.request("BREW", "/v1/content")
    assert seen.of(name, method="GET", route="/v1/content/{id}", status="2xx") == 1
    assert seen.of(name, method="GET", route="/v1/content/{id}", status="4xx") == 1
    assert seen.of(name, method="GET", route="unknown", status="4xx") == 1
    assert seen.of(name, method="other", route="/v1/content", status="4xx") == 1


def test_metrics_name_nobody(api, account, item):
    api.post(CHECK, body_for(item))
    api.get(f"/v1/content/{item.pk}")
    text = scrape()
    for private in (account.pk, item.pk, "org_acme", "svc_sk"):
        assert private not in text
