"""Log lines, as text and as JSON."""

import json
import logging

import pytest

from kit.telemetry.logs import Lines, redact_secrets
from tests import factories
from tests.client import ApiClient
from tests.documentation.blocks import block
from tests.ways import GatewayClient

CHECK = "/v1/access/check"


def test_a_json_line_says_when_what_and_in_which_request_on_one_line(log):
    logging.getLogger("some.where").warning("%d things", 3)
    try:
        raise RuntimeError("first\nsecond")
    except RuntimeError:
        logging.getLogger("some.where").exception("failed\nbadly")
    line, failure = log.lines("some.where")
    assert set(line) == {"time", "level", "logger", "message", "request_id"}
    assert (line["level"], line["message"], line["request_id"]) == ("WARNING", "3 things", "-")
    assert line["time"].endswith("Z")
    assert "RuntimeError: first\nsecond" in failure["exception"]


def test_text_that_has_no_bytes_is_logged_all_the_same(log):
    # By the handler alone: pytest keeps what the root logger gets, and cannot send this to its other processes.
    log.handler.handle(logging.makeLogRecord({"name": "some.where", "msg": "lone \ud800 surrogate"}))
    assert len(log.lines("some.where")) == 1


@pytest.mark.parametrize("log", [Lines], indirect=True)
def test_a_line_for_people_has_the_same(log):
    logging.getLogger("some.where").warning("%d things", 3)
    assert log.text.rstrip().endswith("WARNING some.where [-] 3 things")


@pytest.mark.parametrize("extra", [{}, {"Idempotency-Key": "once"}])
@pytest.mark.usefixtures("access_log")
def test_a_check_leaves_an_access_line_on_either_way(log, api, account, item, extra):
    sent = {"X-Request-Id": "from-the-caller", **extra}
    api.post(CHECK, {"contentId": item.pk, "requester": "org_acme"}, headers=sent)
    [line] = log.lines("access")
    assert (line["method"], line["route"], line["status"]) == ("POST", CHECK, 200)
    assert (line["account"], line["key"][:4], line["request_id"]) == (account.pk, "key_", "from-the-caller")
    assert 0 < line["duration_ms"] < 10_000


@pytest.mark.slow
@pytest.mark.usefixtures("access_log")
def test_the_guide_shows_the_fields_of_a_line(log, api, item):
    api.post(CHECK, {"contentId": item.pk, "requester": "org_acme"})
    [line] = log.lines("access")
    assert json.loads(block("docs/reference/observability.md", '{"time"')).keys() == line.keys()


@pytest.mark.usefixtures("access_log")
def test_an_access_line_has_no_id_and_no_query(log, api, item):
    api.get(f"/v1/content/{item.pk}?expand=policy")
    api.get("/v1/nowhere/private")
    known, unknown = log.lines("access")
    assert (known["route"], known["status"]) == ("/v1/content/{id}", 200)
    assert (unknown["route"], unknown["status"]) == ("unknown", 404)
    assert item.pk not in log.text
    assert "private" not in json.dumps(log.lines("access"))


@pytest.mark.usefixtures("access_log")
def test_a_request_without_a_valid_key_names_none(log, application):
    for client in (GatewayClient(None, application), ApiClient(None)):
        client.post(CHECK, {})
    assert [(line["status"], line["account"], line["key"]) for line in log.lines("access")] == [(401, None, None)] * 2


@pytest.mark.usefixtures("access_log")
def test_a_failure_has_its_access_line_too(log, account, monkeypatch):
    monkeypatch.setattr("licensing.content.services.save_content", lambda *args, **kwargs: 1 / 0)
    ApiClient(factories.key_text(account)).post("/v1/content", {"title": "x"})
    assert log.lines("access")[-1]["status"] == 500
    assert "ZeroDivisionError" in log.lines("kit.http.error_replies")[0]["exception"]


def test_without_the_setting_there_is_no_access_line(log, api, item):
    api.post(CHECK, {"contentId": item.pk, "requester": "org_acme"})
    api.get("/v1/content")
    assert log.lines("access") == []


@pytest.mark.parametrize(("said", "logged"), [
    ("key svc_sk_abc123DEF456GHI789 sent", "key svc_sk_abc123… sent"),
    ("Authorization: Bearer abc.def/ghi", "Authorization: Bearer [removed]"),
    ("{'Authorization': 'Bearer abc'}", "{'Authorization': 'Bearer [removed]'}"),
    ("redis://:p4ss@redis:6379/0 is away", "redis://:[removed]@redis:6379/0 is away"),
    ("postgresql://me:p@ss/word@db/x", "postgresql://me:[removed]@db/x"),
    ("failed: host=db user=me password=abc x=1", "failed: host=db user=me password=[removed] x=1"),
    ("""{"password": "a b", "x": 1}""", """{"password": [removed], "x": 1}"""),
    ("http://127.0.0.1:8000/v1/content", "http://127.0.0.1:8000/v1/content"),
    ("GET /v1/content/cnt_01 took 3 ms", "GET /v1/content/cnt_01 took 3 ms"),
])  # fmt: skip
def test_texts_that_look_like_secrets_are_removed(said, logged):
    assert redact_secrets(said) == logged
