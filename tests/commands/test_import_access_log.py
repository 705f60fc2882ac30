import bz2
import gzip
import json
import lzma
import re
from collections import Counter
from datetime import timedelta
from io import BufferedReader, BytesIO, StringIO
from pathlib import Path
from random import Random
from unittest.mock import DEFAULT, Mock

import pytest
import zstandard
from django.core.management import CommandError, call_command
from django.db import connection, connections
from django.utils import timezone

from accounts.plans.services import update_account
from analytics.models import AccessEvent, EventHorizon, LedgerEntry
from analytics.rollups.roll_up import roll_up
from kit.http.errors import InvalidRequest
from kit.values.timestamps import render_timestamp
from licensing.licenses.models import License
from licensing.licenses.services import revoke_license
from licensing.logs import importer
from licensing.logs.lines import decompressed, read_lines
from licensing.policies import rate_limits
from licensing.visits import counting
from licensing.visits.models import VisitsCounted
from tests import factories
from tests.commands.access_logs import (
    BROWSER,
    HEADERS,
    YESTERDAY,
    combined,
    no_names,  # noqa: F401 - a fixture
    publisher,
    refused,
    run,
    written,
)
from tests.edge.asking import LICENSED, READERS
from tests.edge.conftest import *  # noqa: F403 - the fixtures of a proxy that asks

AGENTS = [BROWSER, "GPTBot/1.0", "Mozilla/5.0 (compatible; Googlebot/2.1)", "ChatGPT-User/1.0", 'mybot "x" \\y']
REFERERS = ["", "https://chatgpt.com/c/1", "https://www.google.de/search?q=x", "https://pub.example/", "odd"]
PATHS = [
    "/open/a", "/open/a?b=c", "/premium/1", "/premium/1;x", "/premium/%31", "/sold/x", "/elsewhere", "/robots.txt",
    "/item", "/b\u00fccher".encode().decode("latin-1"),
]  # fmt: skip
COMPARED = ("allowed", "reason", "observed", "permission", "url", "identifiedBy", "referrer", "charge", "matchedRule")


def requests(count=60):
    random = Random(11)
    return [
        {
            "uri": random.choice(PATHS), "agent": random.choice(AGENTS), "referer": random.choice(REFERERS),
            "method": random.choice(["GET", "GET", "HEAD"]), "address": random.choice(["203.0.113.9", "2001:db8::1"]),
        }
        for _ in range(count)
    ]  # fmt: skip


@pytest.fixture
def log(tmp_path):
    """A log of 60 requests, one per second."""
    lines = [
        combined(YESTERDAY + timedelta(seconds=number), one["uri"], one["agent"], address=one["address"],
                 method=one["method"], referer=one["referer"])
        for number, one in enumerate(requests())
    ]  # fmt: skip
    return written(tmp_path / "access.log", lines)


def check_figures():
    roll_up()
    call_command("rebuild_usage", "--check", stdout=StringIO())


def shown(api, **query):
    rows = api.get("/v1/access/decisions", limit=100, sort="created", **query)["data"]
    full = (api.get(f"/v1/access/decisions/{row['id']}").body for row in rows)
    return [
        ({name: row.get(name) for name in COMPARED}, row["requester"], row.get("context"), row["rateLimit"])
        for row in full
    ]


def without_reset(rows):
    return [(*rest, limit and limit["remaining"]) for *rest, limit in rows]


def test_importing_a_log_equals_making_the_requests_live(
    ask, account, other_account, api, other_api, log, crawler_table
):
    addresses = ["203.0.113.0/24", "2001:db8::/32"]
    crawler_table(
        {"name": "GPTBot", "class": "ai_training", "operator": "A", "userAgent": "GPTBot", "addresses": addresses},
        {"name": "ChatGPT-User", "class": "ai_input", "operator": "A", "userAgent": "ChatGPT-User",
         "addresses": addresses},
        {"name": "Googlebot", "class": "search", "operator": "B", "userAgent": "Googlebot"},
    )  # fmt: skip
    publisher(account)
    publisher(other_account)
    for one in requests():
        ask(one["uri"], user_agent=one["agent"], referer=one["referer"] or None, x_forwarded_method=one["method"],
            x_forwarded_for=one["address"])  # fmt: skip
    result = run(log, "--account", other_account.pk)
    live, imported = without_reset(shown(api)), without_reset(shown(other_api))
    assert len(live) == len(imported) == result["imported"] > 40
    for ours, theirs in zip(imported, live, strict=True):
        assert ours == theirs
    assert {row["reason"] for row in result["byReason"]} >= {"rate_limit_exceeded", "permission_not_granted"}
    assert result["skipped"]["openPages"] == 60 - len(live)
    reports = [each.get("/v1/analytics/crawlers")["byOperator"] for each in (api, other_api)]
    assert reports[0] == reports[1] != []
    pages = [each.get("/v1/analytics/pages") for each in (api, other_api)]
    assert pages[0]["summary"] == pages[1]["summary"]
    observed = [each.get("/v1/analytics/observed") for each in (api, other_api)]
    assert observed[0]["byReason"] == observed[1]["byReason"]
    assert observed[1]["revenueAtStake"] == result["worth"] != []


def test_a_limit_per_visitor_gives_an_address_the_allowance_of_many_readers(account, tmp_path, monkeypatch):
    monkeypatch.setattr(rate_limits, "READERS_PER_ADDRESS", 2)
    update_account(account, {"visitor_addresses": "full"})
    once = {**READERS, "rateLimit": {"requests": 1, "period": "month", "per": "visitor"}}
    factories.site(account, {"/": factories.policy(account, once)}, host="pub.example", mode="observe")
    addresses = ["203.0.113.1"] * 3 + ["203.0.113.2"] * 2 + ["2001:db8::1", "2001:db8::2", "2001:db8::3"]
    lines = [
        combined(YESTERDAY + timedelta(seconds=number), f"/{number}", BROWSER, address=address)
        for number, address in enumerate(addresses)
    ]
    result = run(written(tmp_path / "access.log", lines))
    assert (result["imported"], result["refused"]) == (8, 2)
    refused = AccessEvent.objects.filter(observed="rate_limit_exceeded").order_by("created")
    assert [one.facts["ip"] for one in refused] == ["203.0.113.1", "2001:db8::3"]


def test_addresses_of_people_are_stored_truncated_and_those_of_crawlers_in_full(account, tmp_path):
    publisher(account)
    lines = [
        combined(YESTERDAY + timedelta(seconds=number), "/open/a", agent)
        for number, agent in enumerate([BROWSER, "GPTBot/1.0"])
    ]
    run(written(tmp_path / "access.log", lines))
    assert [one.facts["ip"] for one in AccessEvent.objects.order_by("created")] == ["203.0.113.0", "203.0.113.9"]


def test_a_licence_counts_until_it_was_revoked(account, tmp_path, crawler_table):
    crawler_table({"name": "TestBot", "class": "search", "operator": "T", "userAgent": "TestBot",
                   "addresses": ["203.0.113.0/24"]})  # fmt: skip
    factories.site(account, {"/": factories.policy(account, LICENSED)}, host="pub.example")
    revoked = {"starts_at": YESTERDAY, "expires_at": YESTERDAY + timedelta(days=9)}
    revoke_license(factories.license(account, "crawler:testbot", **revoked))
    License.objects.update(revoked_at=YESTERDAY + timedelta(hours=2))
    lines = [combined(YESTERDAY + timedelta(hours=hours), "/a", "TestBot/1.0") for hours in (-1, 1, 3)]
    run(written(tmp_path / "access.log", lines))
    assert [one.observed for one in AccessEvent.objects.order_by("created")] == ["no_license", None, "no_license"]


def test_imported_decisions_are_at_their_own_time_and_marked(account, api, log):
    publisher(account)
    run(log)
    event = AccessEvent.objects.order_by("created").first()
    assert timedelta(0) <= event.created - YESTERDAY < timedelta(seconds=3)
    decision = api.get(f"/v1/access/decisions/{event.pk}")
    assert (decision["imported"], decision["allowed"]) == (True, True)
    day = f"{YESTERDAY:%Y-%m-%d}"
    usage = api.get("/v1/analytics/usage", startDate=day, endDate=day)
    assert usage["summary"]["totalRequests"] == AccessEvent.objects.count()
    [series] = api.get("/v1/analytics/pages", startDate=day, endDate=day)["timeSeries"]
    assert series["date"] == day
    assert not LedgerEntry.objects.exists()
    check_figures()


def test_a_file_that_is_imported_again_adds_nothing(account, log, tmp_path):
    publisher(account)
    first = run(log)
    again = run(log)
    assert (again["imported"], again["repeated"]) == (0, first["imported"])
    assert AccessEvent.objects.count() == first["imported"]
    equal = written(tmp_path / "equal.log", [combined(YESTERDAY, "/open/c", BROWSER)] * 3)
    assert [run(equal)["imported"] for _ in range(2)] == [3, 0]
    check_figures()


@pytest.mark.parametrize("counted", [False, True])
def test_rotated_and_gzipped_files_overlap_without_harm(account, api, log, tmp_path, counted):
    publisher(account)
    VisitsCounted.objects.create(pk=1, until=timezone.now() if counted else YESTERDAY - timedelta(days=1))
    lines = Path(log).read_text("latin-1").splitlines()
    older, newer = written(tmp_path / "access.log.1", lines[:40]), tmp_path / "access.log.2.gz"
    newer.write_bytes(gzip.compress("\n".join(lines[20:]).encode("latin-1")))
    run(older)
    run(str(newer))
    list(counting.count_in_steps(timezone.now()))
    number = AccessEvent.objects.count()
    assert run(log)["imported"] == 0
    assert api.get("/v1/analytics/pages")["summary"]["requests"] == number
    check_figures()


def test_an_import_that_broke_off_is_finished_by_the_next(account, log, monkeypatch):
    publisher(account)
    monkeypatch.setattr(importer, "CHUNK", 10)
    VisitsCounted.objects.create(pk=1, until=timezone.now())
    store_twice = Mock(wraps=importer.store_usage, side_effect=[DEFAULT, DEFAULT, KeyboardInterrupt])
    with monkeypatch.context() as patch:
        patch.setattr(importer, "store_usage", store_twice)
        with pytest.raises(KeyboardInterrupt):
            run(log)
    assert 0 < (before := AccessEvent.objects.count()) < 40
    result = run(log)
    assert result["repeated"] == before
    assert AccessEvent.objects.count() == before + result["imported"]
    check_figures()


def test_a_damaged_file_is_imported_up_to_its_damage(account, log, tmp_path, monkeypatch):
    publisher(account)
    monkeypatch.setattr(importer, "CHUNK", 10)
    damaged = tmp_path / "access.log.gz"
    damaged.write_bytes(gzip.compress(Path(log).read_bytes())[:-9])
    with pytest.raises(CommandError, match="The file is damaged after line"):
        run(str(damaged), "--format", "combined")
    before = AccessEvent.objects.count()
    assert before > 0
    result = run(log)
    assert (result["repeated"], AccessEvent.objects.count()) == (before, before + result["imported"])
    check_figures()


def test_the_thread_that_decides_opens_no_connection_to_the_database(account, log, monkeypatch):
    publisher(account)
    original, opened = importer.LogImport.decide_lines, []

    def decide_lines(work, lines):
        decided = original(work, lines)
        opened.append(connections.all(initialized_only=True))
        return decided

    monkeypatch.setattr(importer.LogImport, "decide_lines", decide_lines)
    assert run(log)["imported"] > 0
    assert opened == [[]]


def test_a_dry_run_counts_and_writes_nothing(account, log):
    publisher(account)
    rehearsed = run(log, "--dry-run")
    assert not AccessEvent.objects.exists()
    result = run(log)
    names = ("imported", "refused", "byReason", "worth", "firstAt", "lastAt", "format")
    assert {name: rehearsed[name] for name in names} == {name: result[name] for name in names}


def test_malformed_lines_are_named_and_the_others_imported(account, tmp_path):
    publisher(account)
    good = combined(YESTERDAY, "/open/a", BROWSER)
    bad = [
        "not a line", combined(YESTERDAY, "/x", BROWSER).replace("GET /x HTTP/1.1", "\\x16\\x03\\x01"), "x" * 70_000,
        good.replace("Nov", "Foo").replace(f"{YESTERDAY:%b}", "Foo"),
        combined(timezone.now() + timedelta(days=2), "/x", BROWSER),
    ]  # fmt: skip
    result = run(written(tmp_path / "access.log", [good, *bad, good]))
    assert (result["imported"], result["malformed"]) == (2, 5)
    assert [one["line"] for one in result["problems"]] == [2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "time", ["31/Dec/1969:23:59:59 +0000", "01/Jan/1970:00:00:05 +0100", "01/Jan/1970:00:00:05 +0000"]
)
def test_a_line_of_a_server_whose_clock_was_not_set_is_named_and_the_others_imported(account, api, tmp_path, time):
    publisher(account)
    good = combined(YESTERDAY, "/open/a", BROWSER)
    result = run(written(tmp_path / "access.log", [good, re.sub(r"\[.*\]", f"[{time}]", good), good]))
    assert result["problems"] == [{"line": 2, "message": "The time is before the year 2000."}]
    assert (result["imported"], result["firstAt"]) == (2, render_timestamp(YESTERDAY))
    assert api.get("/v1/analytics/usage", period="all")["timeSeries"][0]["date"] == f"{YESTERDAY:%Y-%m-%d}"


def test_hours_with_a_proxy_are_not_counted_twice(ask, account, log, tmp_path):
    publisher(account)
    ask("/open/a")
    path = written(tmp_path / "now.log", [combined(timezone.now() - timedelta(seconds=1), "/open/b", BROWSER)])
    event = AccessEvent.objects.get()
    hour = event.created.replace(minute=0, second=0, microsecond=0)
    path = written(tmp_path / "now.log", [combined(hour, "/open/b", BROWSER)])
    assert refused(path)["skipped"]["live"] == 1
    assert run(log)["imported"] > 40
    assert run(path, "--include-live")["imported"] == 1


def test_purged_periods_are_not_imported(account, log):
    publisher(account)
    EventHorizon.objects.create(begin=YESTERDAY + timedelta(seconds=30))
    result = run(log)
    assert result["skipped"]["purged"] == 30
    assert result["imported"] <= 30


FORMATS = {
    "caddy": lambda one: json.dumps({
        "level": "info", "ts": YESTERDAY.timestamp(), "logger": "http.log.access", "msg": "handled request",
        "request": {"remote_ip": "10.0.0.1", "client_ip": "203.0.113.9", "proto": "HTTP/2.0", "method": "GET",
                    "host": "pub.example", "uri": one, "headers": {"User-Agent": ["GPTBot/1.0"], "Referer": ["x"]}},
        "status": 200}),
    "fastly": lambda one: "<134>2026-11-23T12:00:00Z cache-fra1 Log[1]: " + json.dumps({
        "timestamp": f"{YESTERDAY:%Y-%m-%dT%H:%M:%S}+0000", "client_ip": "203.0.113.9", "host": "pub.example",
        "url": one, "request_method": "GET", "request_referer": "", "request_user_agent": "GPTBot/1.0",
        "response_status": 200}),
    "logpush": lambda one: json.dumps({
        "ClientIP": "203.0.113.9", "ClientRequestHost": "pub.example", "ClientRequestMethod": "GET",
        "ClientRequestURI": one, "ClientRequestReferer": "", "ClientRequestUserAgent": "GPTBot/1.0",
        "EdgeResponseStatus": 200,
        "EdgeStartTimestamp": int(YESTERDAY.timestamp() * 1_000_000_000)}),
    "combined": lambda one: combined(YESTERDAY, one, "GPTBot/1.0"),
    "cloudfront": lambda one: "\t".join([
        f"{YESTERDAY:%Y-%m-%d}", f"{YESTERDAY:%H:%M:%S}", "203.0.113.9", "GET", "d1.cloudfront.net",
        one.partition("?")[0], "200", "-", "GPTBot/1.0", one.partition("?")[2] or "-", "FRA", "pub.example"]),
}  # fmt: skip


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("log_format", FORMATS)
def test_every_format_is_read_and_detected(account, tmp_path, log_format, named):
    publisher(account)
    lines = [FORMATS[log_format](uri) for uri in ("/open/a", "/open/b?c=d")]
    other = FORMATS[log_format]("/x").replace("pub.example", "other.example")
    if log_format == "cloudfront":
        lines = [HEADERS, *lines]
    path = written(tmp_path / "access.log", [*lines, *([other] if log_format != "combined" else [])])
    result = run(path, *(["--format", log_format] if named else []))
    assert (result["format"], result["imported"], result["malformed"]) == (log_format, 2, 0)
    assert result["skipped"]["otherHosts"] == (log_format != "combined")
    events = AccessEvent.objects.order_by("pk")
    assert {(one.created, one.facts["ip"], one.facts["userAgent"]) for one in events} == {
        (YESTERDAY, "203.0.113.9", "GPTBot/1.0")
    }
    assert Counter(one.facts["url"] for one in events) == Counter(f"https://pub.example/open/{name}" for name in "ab")


def test_a_condition_on_the_time_holds_as_of_the_line(account, api, tmp_path):
    soon = {"action": "allow", "conditions": {"before": f"{YESTERDAY + timedelta(seconds=5):%Y-%m-%dT%H:%M:%SZ}"},
            "permissions": ["full_access"]}  # fmt: skip
    factories.site(account, {"/": factories.policy(account, soon)}, host="pub.example")
    lines = [combined(YESTERDAY + timedelta(seconds=number), "/a", BROWSER) for number in range(10)]
    assert run(written(tmp_path / "access.log", lines))["refused"] == 5


def test_the_site_must_be_known_and_the_format_too(account, tmp_path):
    path = written(tmp_path / "access.log", ["what is this"])
    with pytest.raises(CommandError, match="There is no site"):
        run(path)
    publisher(account)
    with pytest.raises(CommandError, match="format of this log is not known"):
        run(path)
    with pytest.raises(CommandError, match="There is no file"):
        run(str(tmp_path / "missing.log"))


def test_other_writers_on_sqlite_get_their_turn_within_every_few_thousand_lines(account):
    lines_by_then = []
    work = importer.LogImport(factories.site(account), "combined")
    work.run(BytesIO(b"malformed\n" * 4_500), lambda totals: lines_by_then.append(totals.lines))
    assert lines_by_then == ([2_000, 4_000, 4_500] if connection.vendor == "sqlite" else [4_500])


def zstd(text):
    """Compress with a checksum, as the program zstd does."""
    return zstandard.ZstdCompressor(write_checksum=True).compress(text)


PACKERS = {
    "gzip": lambda text: gzip.compress(text[:50_000]) + gzip.compress(text[50_000:]),
    "bzip2": lambda text: bz2.compress(text[:50_000]) + bz2.compress(text[50_000:]),
    "xz": lzma.compress,
    "zstd": lambda text: zstd(text[:50_000]) + zstd(text[50_000:]),
}


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_compressed_logs_are_read_and_damaged_ones_named(pack):
    lines = [b"line %d " % number + b"x" * (number % 90) for number in range(5_000)]
    packed = pack(b"\n".join(lines))

    def read(raw):
        return [line for _, line in read_lines(decompressed(BufferedReader(BytesIO(raw))))]

    assert read(packed) == lines
    for damaged in (packed[:-9], packed[:200] + b"damaged" + packed[207:]):
        with pytest.raises(InvalidRequest, match="The file is damaged after line"):
            read(damaged)
