"""POST /v1/policies (docs/reference/policies.md)."""

import re

from tests.endpoints.content_fields import A_TIMESTAMP
from tests.endpoints.policy_fields import FULL, OUT_OF_BOUNDS, rule


def test_a_policy_comes_back_as_it_was_sent(api):
    reply = api.post("/v1/policies", FULL)
    assert reply.status == 201
    assert api.get(f"/v1/policies/{reply['id']}").body == reply.body
    created = reply.body
    assert re.fullmatch(r"pol_[0-9a-z]{26}", created.pop("id"))
    assert A_TIMESTAMP(created.pop("created"))
    given_none = {"externalId": None, "metadata": {}}
    assert created == {"object": "policy", **FULL, "mode": "enforce", "tests": [], "version": 1, **given_none}
    closed, again = (api.post("/v1/policies", {"name": "Closed"}) for _ in range(2))
    assert (closed.status, again.status) == (201, 201)
    assert set(closed.body) == {*created, "id", "created"}
    assert (closed["description"], closed["rules"], closed["defaultAction"]) == (None, [], "deny")


def test_values_out_of_bounds_are_refused_by_name(api):
    reply = api.post("/v1/policies", {"rules": []})
    assert (reply.status, reply.error["code"], reply.error["param"]) == (422, "invalid_request", "name")
    for name, value, param in OUT_OF_BOUNDS:
        reply = api.post("/v1/policies", {"name": "x", name: value})
        assert (reply.status, reply.error["code"], reply.error["param"]) == (422, "invalid_request", param)
    assert api.get("/v1/policies")["totalCount"] == 0


def test_values_within_bounds_are_stored(api):
    for fields in [
        {"name": "x" * 255}, {"description": "x" * 2000}, {"description": None}, {"defaultAction": "allow"},
        {"rules": [rule(priority=n) for n in range(100)]}, {"rules": [rule(priority=0), rule(priority=1_000_000)]},
    ]:  # fmt: skip
        reply = api.post("/v1/policies", {"name": "x", **fields})
        assert (reply.status, {name: reply[name] for name in fields}) == (201, fields)
    limits = [{"requests": 5, "period": period} for period in ("minute", "hour", "day", "week")]
    limits += [{"requests": 1, "period": "second"}, {"requests": 1_000_000_000, "period": "month"}]
    rules = [
        rule(permissions=[f"p{n}" for n in range(50)]), rule(permissions=["a" + "z" * 63, "x0_:.-"]),
        rule(permissions=[]), rule(message="x" * 500), *(rule(rateLimit=limit) for limit in limits),
        {"action": "deny", "conditions": {"hasValidLicense": False}}, rule(conditions={"licenseType": "commercial"}),
        rule(conditions={"requesterId": ["org_a", "org_b"], "contentType": "article"}),
        rule(conditions={"tags": ["law"], "category": "news", "permission": "read"}),
        rule(conditions={"ip": ["203.0.113.9", "2001:db8::/32"]}),
        rule(conditions={"before": "2027-01-01", "after": "2026-01-01T00:00:00+01:00"}),
    ]  # fmt: skip
    reply = api.post("/v1/policies", {"name": "x", "rules": rules})
    assert (reply.status, reply["rules"]) == (201, rules)
