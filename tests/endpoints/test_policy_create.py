"""POST /v1/policies (docs/reference/policies.md)."""

import re

from tests.endpoints.content_fields import A_TIMESTAMP
from tests.endpoints.policy_fields import FULL, OUT_OF_BOUNDS, rule


def test_a_policy_comes_back_as_it_was_sent(api):
    reply = api.post("/v1/policies", FULL)
    assert reply.status == 201
    created = reply.body
    assert re.fullmatch(r"pol_[0-9a-z]{26}", created.pop("id"))
    assert A_TIMESTAMP(created.pop("created"))
    given_none = {"externalId": None, "metadata": {}}
    assert created == {"object": "policy", **FULL, "mode": "enforce", "tests": [], "version": 1, **given_none}
    reply = api.post("/v1/policies", {"name": "Closed"})
    assert reply.status == 201
    fields = {"id", "object", "name", "description", "rules", "defaultAction", "mode", "tests", "version", "created"}
    assert set(reply.body) == {*fields, "externalId", "metadata"}
    assert (reply["description"], reply["rules"], reply["defaultAction"]) == (None, [], "deny")
    assert [api.post("/v1/policies", {"name": "x"}).status for _ in range(2)] == [201, 201]


def test_values_out_of_bounds_are_refused_by_name(api):
    reply = api.post("/v1/policies", {"rules": []})
    assert (reply.status, reply.error["code"], reply.error["param"]) == (422, "invalid_request", "name")
    reply = api.post("/v1/policies", {"name": "x", "rule": []})
    assert (reply.status, reply.error["param"]) == (422, "rule")
    for name, value, param in OUT_OF_BOUNDS:
        reply = api.post("/v1/policies", {"name": "x", name: value})
        assert (reply.status, reply.error["code"], reply.error["param"]) == (422, "invalid_request", param)
        assert api.get("/v1/policies")["totalCount"] == 0


def test_values_within_bounds_are_stored(api):
    for name, value in [
        ("name", "x" * 255),
        ("description", "x" * 2000),
        ("description", None),
        ("defaultAction", "allow"),
        ("rules", [rule(priority=n) for n in range(100)]),
        ("rules", [rule(priority=0), rule(priority=1_000_000)]),
        ("rules", [rule(permissions=[f"p{n}" for n in range(50)])]),
        ("rules", [rule(permissions=["a" + "z" * 63, "x0_:.-"])]),
        ("rules", [rule(permissions=[])]),
        ("rules", [rule(message="x" * 500)]),
        ("rules", [rule(rateLimit={"requests": 1, "period": "second"})]),
        ("rules", [rule(rateLimit={"requests": 1_000_000_000, "period": "month"})]),
        ("rules", [{"action": "deny", "conditions": {"hasValidLicense": False}}]),
        ("rules", [rule(conditions={"licenseType": "commercial"})]),
        ("rules", [rule(conditions={"requesterId": ["org_a", "org_b"], "contentType": "article"})]),
        ("rules", [rule(conditions={"tags": ["law"], "category": "news", "permission": "read"})]),
        ("rules", [rule(conditions={"ip": ["203.0.113.9", "2001:db8::/32"]})]),
        ("rules", [rule(conditions={"before": "2027-01-01", "after": "2026-01-01T00:00:00+01:00"})]),
    ]:
        reply = api.post("/v1/policies", {"name": "x", name: value})
        assert reply.status == 201
        assert reply[name] == value
    for period in ["second", "minute", "hour", "day", "week", "month"]:
        limited = rule(rateLimit={"requests": 5, "period": period})
        assert api.post("/v1/policies", {"name": "x", "rules": [limited]}).status == 201
