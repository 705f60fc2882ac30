"""Invalid rules return 422 with the path of the fault in `param`."""

from typing import Any

from tests.client import ApiClient

DEFAULT = {"default": True}
RATE = {"requests": 100, "period": "hour"}


def allow(**fields: Any) -> dict[str, Any]:
    return {"action": "allow", "conditions": DEFAULT, **fields}


def when(**conditions: Any) -> dict[str, Any]:
    return {"action": "allow", "conditions": conditions}


def rate(**fields: Any) -> dict[str, Any]:
    return allow(rateLimit={**RATE, **fields})


RULE = "rules[0]"
CONDITIONS = "rules[0].conditions"
WRONG: list[tuple[str, Any, str]] = [
    # The rule as a whole
    ("null", None, RULE),
    ("a string", "allow", RULE),
    ("an array", [allow()], RULE),
    ("no action", {"conditions": DEFAULT}, f"{RULE}.action"),
    ("no conditions", {"action": "deny"}, f"{RULE}.conditions"),
    ("an unknown field", allow(effect="allow"), f"{RULE}.effect"),
    ("a field in another spelling", allow(Priority=1), f"{RULE}.Priority"),
    ("an action of no kind", {**allow(), "action": "permit"}, f"{RULE}.action"),
    ("an action in capitals", {**allow(), "action": "ALLOW"}, f"{RULE}.action"),
    ("an action that is an array", {**allow(), "action": ["allow"]}, f"{RULE}.action"),
    ("an action that is an object", {**allow(), "action": {}}, f"{RULE}.action"),
    # Priority
    ("a negative priority", allow(priority=-1), f"{RULE}.priority"),
    ("a priority past the limit", allow(priority=1_000_001), f"{RULE}.priority"),
    ("a priority as text", allow(priority="1"), f"{RULE}.priority"),
    ("a priority with a point", allow(priority=1.0), f"{RULE}.priority"),
    ("a priority that is true", allow(priority=True), f"{RULE}.priority"),
    ("a priority that is null", allow(priority=None), f"{RULE}.priority"),
    # Conditions
    ("empty conditions", when(), CONDITIONS),
    ("conditions that are null", {**allow(), "conditions": None}, CONDITIONS),
    ("conditions in an array", {**allow(), "conditions": [DEFAULT]}, CONDITIONS),
    ("an unknown condition", when(country="DE"), f"{CONDITIONS}.country"),
    ("a misspelt condition beside a good one", when(licenceType="x", tags="a"), f"{CONDITIONS}.licenceType"),
    ("default false", when(default=False), f"{CONDITIONS}.default"),
    ("default as text", when(default="true"), f"{CONDITIONS}.default"),
    ("default as 1", when(default=1), f"{CONDITIONS}.default"),
    ("default beside another", when(default=True, tags="a"), f"{CONDITIONS}.default"),
    ("hasValidLicense as text", when(hasValidLicense="true"), f"{CONDITIONS}.hasValidLicense"),
    ("hasValidLicense as 1", when(hasValidLicense=1), f"{CONDITIONS}.hasValidLicense"),
    ("hasValidLicense null", when(hasValidLicense=None), f"{CONDITIONS}.hasValidLicense"),
    ("a type that does not exist", when(contentType="podcast"), f"{CONDITIONS}.contentType"),
    ("one such type in an array", when(contentType=["image", "podcast"]), f"{CONDITIONS}.contentType[1]"),
    ("a type that is an array in an array", when(contentType=[["image"]]), f"{CONDITIONS}.contentType[0]"),
    ("a type that is an object", when(contentType={}), f"{CONDITIONS}.contentType"),
    ("a permission in capitals", when(permission="Read"), f"{CONDITIONS}.permission"),
    ("an address that is none", when(ip="example.com"), f"{CONDITIONS}.ip"),
    ("an address that is a number", when(ip=3405803785), f"{CONDITIONS}.ip"),
    ("a range with host bits", when(ip="10.0.0.1/8"), f"{CONDITIONS}.ip"),
    ("an IPv6 range with host bits", when(ip=["::1", "2001:db8::1/32"]), f"{CONDITIONS}.ip[1]"),
    ("a range past the limit", when(ip="10.0.0.0/33"), f"{CONDITIONS}.ip"),
    ("an address with a scope", when(ip="fe80::1%eth0"), f"{CONDITIONS}.ip"),
    ("before without an offset", when(before="2026-06-01T12:00:00"), f"{CONDITIONS}.before"),
    ("after on a day that is none", when(after="2026-02-30"), f"{CONDITIONS}.after"),
    ("after as a number", when(after=1767225600), f"{CONDITIONS}.after"),
    ("before in an array", when(before=["2026-06-01"]), f"{CONDITIONS}.before"),
    *[
        (f"{name} {label}", when(**{name: value}), f"{CONDITIONS}.{name}{member}")
        for name in ("licenseType", "requesterId", "tags", "category")
        for label, value, member in [
            ("empty", "", ""),
            ("null", None, ""),
            ("a number", 1, ""),
            ("an object", {"in": ["a"]}, ""),
            ("an empty text in an array", ["a", ""], "[1]"),
            ("null in an array", ["a", None], "[1]"),
        ]
    ],
    *[
        (f"{name} an empty array", when(**{name: []}), f"{CONDITIONS}.{name}")
        for name in ("licenseType", "requesterId", "contentType", "tags", "category", "permission", "ip")
    ],
    ("a licence type past the limit", when(licenseType="x" * 101), f"{CONDITIONS}.licenseType"),
    ("a requester past the limit", when(requesterId="x" * 256), f"{CONDITIONS}.requesterId"),
    ("a tag past the limit", when(tags=["x" * 101]), f"{CONDITIONS}.tags[0]"),
    ("a category past the limit", when(category="x" * 256), f"{CONDITIONS}.category"),
    ("501 values", when(tags=["x"] * 501), f"{CONDITIONS}.tags"),
    # Permissions
    ("permissions on a deny rule", {**allow(permissions=["read"]), "action": "deny"}, f"{RULE}.permissions"),
    ("permissions as text", allow(permissions="read"), f"{RULE}.permissions"),
    ("permissions null", allow(permissions=None), f"{RULE}.permissions"),
    ("a permission in capitals among them", allow(permissions=["read", "PRINT"]), f"{RULE}.permissions[1]"),
    ("a permission that begins with a digit", allow(permissions=["1read"]), f"{RULE}.permissions[0]"),
    ("a permission that is empty", allow(permissions=[""]), f"{RULE}.permissions[0]"),
    ("a permission that ends with a line break", allow(permissions=["a\n"]), f"{RULE}.permissions[0]"),
    ("a permission that is a number", allow(permissions=[1]), f"{RULE}.permissions[0]"),
    ("a permission past the limit", allow(permissions=["x" * 65]), f"{RULE}.permissions[0]"),
    ("51 permissions", allow(permissions=[f"p{n}" for n in range(51)]), f"{RULE}.permissions"),
    # Rate limit
    ("a rate limit on a deny rule", {**allow(rateLimit=RATE), "action": "deny"}, f"{RULE}.rateLimit"),
    ("a rate limit as a number", allow(rateLimit=100), f"{RULE}.rateLimit"),
    ("a rate limit null", allow(rateLimit=None), f"{RULE}.rateLimit"),
    ("a rate limit without requests", allow(rateLimit={"period": "hour"}), f"{RULE}.rateLimit.requests"),
    ("a rate limit without a period", allow(rateLimit={"requests": 1}), f"{RULE}.rateLimit.period"),
    ("an unknown field in a rate limit", rate(burst=5), f"{RULE}.rateLimit.burst"),
    ("no requests at all", rate(requests=0), f"{RULE}.rateLimit.requests"),
    ("requests past the limit", rate(requests=1_000_000_001), f"{RULE}.rateLimit.requests"),
    ("requests as text", rate(requests="100"), f"{RULE}.rateLimit.requests"),
    ("requests with a point", rate(requests=1.5), f"{RULE}.rateLimit.requests"),
    ("a period that does not exist", rate(period="year"), f"{RULE}.rateLimit.period"),
    ("a period that is an array", rate(period=["hour"]), f"{RULE}.rateLimit.period"),
    # Message
    ("a message past the limit", allow(message="x" * 501), f"{RULE}.message"),
    ("a message that is a number", allow(message=1), f"{RULE}.message"),
    ("a message null", allow(message=None), f"{RULE}.message"),
]
LISTS: list[tuple[str, Any, str]] = [
    ("an object", {"0": allow()}, "rules"),
    ("text", "[]", "rules"),
    ("null", None, "rules"),
    ("101 rules", [allow()] * 101, "rules"),
    ("a mistake in the second", [allow(), when(tags=[])], "rules[1].conditions.tags"),
]
RIGHT: list[tuple[str, Any]] = [
    ("the highest priority", allow(priority=1_000_000)),
    ("the lowest priority", allow(priority=0)),
    ("the longest licence type", when(licenseType="x" * 100)),
    ("the longest requester id", when(requesterId="x" * 255)),
    ("the longest category", when(category="x" * 255)),
    ("the longest tag", when(tags="x" * 100)),
    ("500 values", when(tags=[f"t{n}" for n in range(500)])),
    ("the longest permission", allow(permissions=["x" * 64])),
    ("no permissions", allow(permissions=[])),
    ("50 permissions", allow(permissions=[f"p{n}" for n in range(50)])),
    ("every sign of a permission", allow(permissions=["a_b:c.d-9"])),
    ("the largest rate limit", rate(requests=1_000_000_000, period="month")),
    ("the smallest rate limit", rate(requests=1, period="second")),
    ("the longest message", {"action": "deny", "conditions": DEFAULT, "message": "x" * 500}),
    ("a bare date", when(before="2026-06-01")),
    ("a single address", when(ip=["203.0.113.9", "::1"])),
    ("several values and one", when(requesterId=["org_a", "org_b"], contentType="article", permission="read")),
    ("both sides of a licence", when(licenseType=["a", "b"], hasValidLicense=False)),
]


def test_wrong_rules_are_refused_with_their_path(api: ApiClient):
    for name, rules, param in [(name, [rule], param) for name, rule, param in WRONG] + LISTS:
        reply = api.post("/v1/policies", {"name": "P", "rules": rules})
        assert (reply.status, reply.error["code"], reply.error["param"]) == (422, "invalid_request", param), name
        assert api.get("/v1/policies")["totalCount"] == 0, name


def test_a_rule_at_its_bounds_comes_back_as_it_was_sent(api: ApiClient):
    for name, rule in RIGHT:
        reply = api.post("/v1/policies", {"name": "P", "rules": [rule]})
        assert reply.status == 201, (name, reply)
        assert api.get(f"/v1/policies/{reply['id']}")["rules"] == [rule], name


def test_a_hundred_rules_are_a_policy_and_a_wrong_one_changes_nothing(api: ApiClient):
    assert api.post("/v1/policies", {"name": "P", "rules": [allow()] * 100}).status == 201
    policy = api.post("/v1/policies", {"name": "P", "rules": [allow()]})
    reply = api.patch(f"/v1/policies/{policy['id']}", {"name": "Q", "rules": [when()]})
    assert (reply.status, reply.error["param"]) == (422, CONDITIONS)
    assert api.get(f"/v1/policies/{policy['id']}").body == policy.body
