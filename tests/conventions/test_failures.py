from unittest.mock import Mock

import pytest
from django.db import InterfaceError, OperationalError, connection, transaction

from kit.http.headers import RequestIdFilter
from tests import factories
from tests.conventions.endpoints import each_endpoint_with_key, each_write
from tests.conventions.replies import assert_error, assert_has_all_headers

MOST_STATEMENTS = 200  # of a sample request
SECRET_DETAIL = "a detail that is nobody's business"


@pytest.fixture
def broken(monkeypatch):
    """Return a function that makes writes of content fail with this exception."""
    return lambda error: monkeypatch.setattr("licensing.content.services.save_content", Mock(side_effect=error))


def test_an_unexpected_exception_is_logged_and_answered_without_its_trace(api, broken, caplog):
    broken(RuntimeError(SECRET_DETAIL))
    caplog.handler.addFilter(RequestIdFilter())
    reply = api.post("/v1/content", {"title": "x"}, headers={"X-Request-Id": "the-one"})
    assert_error(reply, 500, "internal_error")
    assert reply.error["type"] == "api_error"
    assert SECRET_DETAIL.encode() not in reply.content
    assert b"Traceback" not in reply.content
    assert SECRET_DETAIL in caplog.text
    [record] = [one for one in caplog.records if one.name == "kit.http.error_replies"]
    assert record.request_id == "the-one"


def test_a_database_that_does_not_answer_is_a_503(api, broken):
    for kind in [OperationalError, InterfaceError]:
        broken(kind(SECRET_DETAIL))
        reply = api.post("/v1/content", {"title": "x"})
        assert_error(reply, 503, "service_unavailable")
        assert (reply.error["type"], reply.error["retryAfter"]) == ("api_error", int(reply.headers["Retry-After"]))
        assert SECRET_DETAIL.encode() not in reply.content, kind


def test_unknown_paths_and_methods_are_answered_without_the_database(api):
    for path, status in [("/v1/content/cnt_x", 405), ("/v1/no-such-path", 404)]:
        with connection.execute_wrapper(Mock(side_effect=OperationalError(SECRET_DETAIL))):
            reply = api.post(path, {})
        assert_has_all_headers(reply)
        assert reply.status == status, path


def test_after_a_failure_nothing_is_half_written(api, monkeypatch):
    policy = api.post("/v1/policies", {"name": "First"}).body
    with monkeypatch.context() as patch:
        patch.setattr("licensing.policies.services.save_revision", Mock(side_effect=OperationalError))
        assert api.patch(f"/v1/policies/{policy['id']}", {"name": "Second"}).status == 503
    assert api.get(f"/v1/policies/{policy['id']}").body == policy


@each_endpoint_with_key()
def test_without_a_database_every_endpoint_is_a_503(api, ids, endpoint):
    with connection.execute_wrapper(Mock(side_effect=OperationalError(SECRET_DETAIL))):
        reply = endpoint.send(api, ids)
    assert_error(reply, 503, "service_unavailable")
    assert_has_all_headers(endpoint.send(api, ids))


class Loss:
    """Refuses all statements from the n-th on; a lost connection's savepoints end with it."""

    def __init__(self, statement):
        self.left = statement

    def __call__(self, execute, sql, params, many, context):
        if not sql.startswith(("SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK TO SAVEPOINT")):
            self.left -= 1
            if self.left <= 0:
                raise OperationalError(SECRET_DETAIL)
        return execute(sql, params, many, context)


@each_write()
def test_a_database_lost_during_a_write_is_a_503(api, ids, endpoint):
    for statement in range(1, MOST_STATEMENTS):
        with transaction.atomic():
            with connection.execute_wrapper(loss := Loss(statement)):
                reply = endpoint.send(api, ids)
            transaction.set_rollback(True)  # also what an error outside of savepoints has broken
        if loss.left > 0:
            break
        assert_error(reply, 503, "service_unavailable")
    assert_has_all_headers(reply)
    assert reply.status == endpoint.status
    assert statement > 1


@pytest.mark.parametrize("path", ["/v1/access/check", "/v1/access/check/batch"])
def test_a_decision_that_cannot_be_recorded_is_not_answered(api, account, monkeypatch, path):
    item = factories.content(account, policy_id=factories.policy(account, factories.ALLOW_ALL).pk)
    body = {"contentId": item.pk, "requester": "org"} | ({"checks": [{}]} if path.endswith("batch") else {})
    with monkeypatch.context() as patch:
        patch.setattr("analytics.recording.recorder.Batch.outcomes", Mock(side_effect=OperationalError(SECRET_DETAIL)))
        assert_error(api.post(path, body), 503, "service_unavailable")
    assert api.get("/v1/access/decisions")["totalCount"] == 0
    assert api.get(f"/v1/content/{item.pk}")["stats"]["totalRequests"] == 0
