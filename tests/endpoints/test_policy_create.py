"""POST /v1/policies (docs/reference/policies.md)."""

import re
from typing import Any

import pytest

from tests.endpoints.test_content_create import A_TIMESTAMP

DEFAULT = {"default": True}
FULL: dict[str, Any] = {
    "name": "Commercial use",
    "description": "For those who pay.",
    "rules": [
        {
            "action": "allow",
            "priority": 1,
            "conditions": {"licenseType": ["commercial", "enterprise"], "hasValidLicense": True},
            "permissions": ["full_access", "commercial_use"],
            "rateLimit": {"requests": 100, "period": "hour"},
        },
        {"action": "deny", "priority": 99, "conditions": DEFAULT, "message": "A licence is required."},
    ],
    "defaultAction": "deny",
}


def rule(**fields: Any) -> dict[str, Any]:
    return {"action": "allow", "conditions": DEFAULT, **fields}


def test_a_policy_comes_back_as_it_was_sent(api):
    reply = api.post("/v1/policies", FULL)
    assert reply.status == 201
    created = reply.body
    assert re.fullmatch(r"pol_[0-9a-z]{26}", created.pop("id"))
    assert A_TIMESTAMP(created.pop("created"))
    given_none = {"externalId": None, "metadata": {}}
    assert created == {"object": "policy", **FULL, "mode": "enforce", "tests": [], "version": 1, **given_none}


def test_a_name_is_enough(api):
    reply = api.post("/v1/policies", {"name": "Closed"})
    assert reply.status == 201
    fields = {"id", "object", "name", "description", "rules", "defaultAction", "mode", "tests", "version", "created"}
    assert set(reply.body) == {*fields, "externalId", "metadata"}
    assert (reply["description"], reply["rules"], reply["defaultAction"]) == (None, [], "deny")


def test_a_missing_name_is_named(api):
    reply = api.post("/v1/policies", {"rules": []})
    assert (reply.status, reply.error["code"], reply.error["param"]) == (422, "invalid_request", "name")


def test_two_policies_may_have_the_same_name(api):
    assert [api.post("/v1/policies", {"name": "x"}).status for _ in range(2)] == [201, 201]


@pytest.mark.parametrize(
    ("name", "value"),
    [
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
    ],
)
def test_values_within_bounds_are_stored(api, name, value):
    reply = api.post("/v1/policies", {"name": "x", name: value})
    assert reply.status == 201
    assert reply[name] == value


@pytest.mark.parametrize("period", ["second", "minute", "hour", "day", "week", "month"])
def test_each_rate_limit_period_is_taken(api, period):
    limited = rule(rateLimit={"requests": 5, "period": period})
    assert api.post("/v1/policies", {"name": "x", "rules": [limited]}).status == 201


OUT_OF_BOUNDS: list[tuple[str, Any, str]] = [
    ("name", "", "name"),
    ("name", "  ", "name"),
    ("name", "x" * 256, "name"),
    ("description", "x" * 2001, "description"),
    ("defaultAction", "maybe", "defaultAction"),
    ("defaultAction", None, "defaultAction"),
    ("rules", None, "rules"),
    ("rules", {}, "rules"),
    ("rules", "allow", "rules"),
    ("rules", [rule()] * 101, "rules"),
    ("rules", ["allow"], "rules[0]"),
    ("rules", [rule(), None], "rules[1]"),
    ("rules", [{"conditions": DEFAULT}], "rules[0].action"),
    ("rules", [rule(action="ALLOW")], "rules[0].action"),
    ("rules", [rule(action=None)], "rules[0].action"),
    ("rules", [rule(action=["allow"])], "rules[0].action"),
    ("rules", [rule(priority=-1)], "rules[0].priority"),
    ("rules", [rule(priority=1_000_001)], "rules[0].priority"),
    ("rules", [rule(priority=1.0)], "rules[0].priority"),
    ("rules", [rule(priority=True)], "rules[0].priority"),
    ("rules", [{"action": "allow"}], "rules[0].conditions"),
    ("rules", [rule(conditions={})], "rules[0].conditions"),
    ("rules", [rule(conditions=[])], "rules[0].conditions"),
    ("rules", [rule(conditions=None)], "rules[0].conditions"),
    ("rules", [rule(conditions={"licencetype": "x"})], "rules[0].conditions.licencetype"),
    ("rules", [rule(conditions={"licenseType": []})], "rules[0].conditions.licenseType"),
    ("rules", [rule(conditions={"licenseType": ""})], "rules[0].conditions.licenseType"),
    ("rules", [rule(conditions={"licenseType": None})], "rules[0].conditions.licenseType"),
    ("rules", [rule(conditions={"licenseType": ["a", 1]})], "rules[0].conditions.licenseType[1]"),
    ("rules", [rule(conditions={"hasValidLicense": "true"})], "rules[0].conditions.hasValidLicense"),
    ("rules", [rule(conditions={"hasValidLicense": 1})], "rules[0].conditions.hasValidLicense"),
    ("rules", [rule(conditions={"hasValidLicense": []})], "rules[0].conditions.hasValidLicense"),
    ("rules", [rule(conditions={"default": False})], "rules[0].conditions.default"),
    ("rules", [rule(conditions={"default": 1})], "rules[0].conditions.default"),
    ("rules", [rule(conditions={"default": True, "tags": "x"})], "rules[0].conditions.default"),
    ("rules", [rule(conditions={"contentType": "book"})], "rules[0].conditions.contentType"),
    ("rules", [rule(conditions={"contentType": [["article"]]})], "rules[0].conditions.contentType[0]"),
    ("rules", [rule(conditions={"requesterId": "x" * 256})], "rules[0].conditions.requesterId"),
    ("rules", [rule(conditions={"permission": "Read"})], "rules[0].conditions.permission"),
    ("rules", [rule(conditions={"ip": "10.0.0.1/8"})], "rules[0].conditions.ip"),
    ("rules", [rule(conditions={"ip": ["10.0.0.0/8", "host"]})], "rules[0].conditions.ip[1]"),
    ("rules", [rule(conditions={"ip": 1})], "rules[0].conditions.ip"),
    ("rules", [rule(conditions={"before": "2027-01-01T00:00:00"})], "rules[0].conditions.before"),
    ("rules", [rule(conditions={"after": 1})], "rules[0].conditions.after"),
    ("rules", [rule(permissions=[f"p{n}" for n in range(51)])], "rules[0].permissions"),
    ("rules", [rule(permissions="full_access")], "rules[0].permissions"),
    ("rules", [rule(permissions=["Full"])], "rules[0].permissions[0]"),
    ("rules", [rule(permissions=["a" * 65])], "rules[0].permissions[0]"),
    ("rules", [rule(permissions=["0a"])], "rules[0].permissions[0]"),
    ("rules", [rule(permissions=["a\n"])], "rules[0].permissions[0]"),
    ("rules", [rule(action="deny", permissions=["a"])], "rules[0].permissions"),
    ("rules", [rule(action="deny", rateLimit={"requests": 1, "period": "day"})], "rules[0].rateLimit"),
    ("rules", [rule(rateLimit={"requests": 0, "period": "day"})], "rules[0].rateLimit.requests"),
    ("rules", [rule(rateLimit={"requests": 1_000_000_001, "period": "day"})], "rules[0].rateLimit.requests"),
    ("rules", [rule(rateLimit={"requests": "5", "period": "day"})], "rules[0].rateLimit.requests"),
    ("rules", [rule(rateLimit={"requests": 5, "period": "year"})], "rules[0].rateLimit.period"),
    ("rules", [rule(rateLimit={"requests": 5, "period": ["day"]})], "rules[0].rateLimit.period"),
    ("rules", [rule(rateLimit={"requests": 5})], "rules[0].rateLimit.period"),
    ("rules", [rule(rateLimit={"period": "day"})], "rules[0].rateLimit.requests"),
    ("rules", [rule(rateLimit={"requests": 5, "period": "day", "burst": 1})], "rules[0].rateLimit.burst"),
    ("rules", [rule(rateLimit=5)], "rules[0].rateLimit"),
    ("rules", [rule(message="x" * 501)], "rules[0].message"),
    ("rules", [rule(message=1)], "rules[0].message"),
    ("rules", [rule(), rule(effect="allow")], "rules[1].effect"),
]


@pytest.mark.parametrize(("name", "value", "param"), OUT_OF_BOUNDS)
def test_values_out_of_bounds_are_refused_by_name(api, name, value, param):
    reply = api.post("/v1/policies", {"name": "x", name: value})
    assert (reply.status, reply.error["code"], reply.error["param"]) == (422, "invalid_request", param)
    assert api.get("/v1/policies")["totalCount"] == 0


def test_a_field_that_policies_do_not_have_is_named(api):
    reply = api.post("/v1/policies", {"name": "x", "rule": []})
    assert (reply.status, reply.error["param"]) == (422, "rule")
