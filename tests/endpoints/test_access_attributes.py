import pytest

from tests import factories

STAFF = {
    "action": "allow",
    "conditions": {"attributes": {"country": ["DE", "AT"], "seats": {"gte": 10}, "trial": False}},
    "permissions": ["read"],
}
KNOWN = {"country": "DE", "seats": 25, "trial": False}


@pytest.fixture
def policy(account):
    return factories.policy(account, STAFF)


@pytest.fixture
def check(api, item):
    def send(attributes=None, requester="org_acme", **fields):
        asked = {"id": requester} | ({} if attributes is None else {"attributes": attributes})
        return api.post("/v1/access/check", {"contentId": item.pk, "requester": asked, **fields})

    return send


def test_rules_match_attributes_of_the_caller(check):
    assert check(KNOWN)["allowed"]
    assert check({**KNOWN, "seats": 10.0})["allowed"]
    assert not check({**KNOWN, "country": "FR"})["allowed"]
    assert not check({**KNOWN, "seats": "25"})["allowed"]
    assert not check()["allowed"]


def test_stored_metadata_counts_where_the_caller_sends_no_attributes(api, check):
    assert not check(dryRun=True)["allowed"]  # before the requester is known
    api.post("/v1/requesters", {"id": "org_acme", "metadata": KNOWN})
    assert check(dryRun=True)["allowed"]
    assert check()["allowed"]
    assert check({})["allowed"]
    assert not check({"country": "DE"})["allowed"]
    assert not check(requester="org_other")["allowed"]
    for metadata in [{"country": "FR"}, {"country": "AT", "trial": None}]:
        api.patch("/v1/requesters/org_acme", {"metadata": metadata})
        assert not check()["allowed"]
    api.patch("/v1/requesters/org_acme", {"metadata": {"trial": False}})
    assert check()["allowed"]


def test_invalid_attributes_are_refused_by_name(check):
    for attributes, param in [
        ("DE", "requester.attributes"), (["DE"], "requester.attributes"),
        ({"country": None}, "requester.attributes.country"), ({"country": ["DE"]}, "requester.attributes.country"),
        ({"country": {"in": "DE"}}, "requester.attributes.country"), ({"a b": 1}, "requester.attributes.a b"),
        ({"": 1}, "requester.attributes."), ({"text": "x" * 501}, "requester.attributes.text"),
        ({f"key{number}": number for number in range(51)}, "requester.attributes"),
    ]:  # fmt: skip
        reply = check(attributes)
        assert (reply.status, reply.error["param"]) == (422, param)


def test_each_check_of_a_batch_uses_its_own_attributes(api, item):
    def batch(checks, requester="org_acme"):
        checks = [{"contentId": item.pk, **fields} for fields in checks]
        return api.post("/v1/access/check/batch", {"requester": requester, "checks": checks})

    reply = batch([{"requester": "org"}, {"requester": {"id": "org", "attributes": {"a": None, "b": []}}}])
    assert reply.status == 422
    wrong = {f"checks[1].requester.attributes.{name}" for name in "ab"}
    assert {one["param"] for one in reply.error["errors"]} == wrong
    api.post("/v1/requesters", {"id": "org_acme", "metadata": KNOWN})
    reply = batch([{}, {"requester": "org_other"}, {}])
    assert [one["allowed"] for one in reply["data"]] == [True, False, True]
    on_trial = {"id": "org_acme", "attributes": {**KNOWN, "trial": True}}
    reply = batch([{}, {"requester": on_trial}, {}], {"id": "org_acme", "attributes": KNOWN})
    assert [one["allowed"] for one in reply["data"]] == [True, False, True]


def test_a_recorded_decision_keeps_its_attributes(api, check):
    api.post("/v1/requesters", {"id": "org_acme", "metadata": KNOWN})
    said, stored = check({"country": "FR"})["id"], check()["id"]
    api.patch("/v1/requesters/org_acme", {"metadata": None})
    shown = [api.get(f"/v1/access/decisions/{one}")["requester"] for one in (said, stored)]
    assert [one["attributes"] for one in shown] == [{"country": "FR"}, KNOWN]
    [step] = check({"country": "FR", "plan": "pro"}, explain=True)["trace"]
    conditions = STAFF["conditions"]["attributes"]
    assert step["failed"] == {"condition": "attributes", "wanted": conditions, "saw": {"country": "FR"}}
    [step] = check(explain=True)["trace"]
    assert step["failed"]["saw"] is None


def test_a_simulation_decides_on_the_recorded_attributes(api, policy, check):
    api.post("/v1/requesters", {"id": "org_acme", "metadata": KNOWN})
    check()
    check({**KNOWN, "seats": 12.5})
    check({**KNOWN, "seats": 3})
    check(requester="org_other")
    api.patch("/v1/requesters/org_acme", {"metadata": None})
    same = api.post(f"/v1/policies/{policy.pk}/simulate", {})
    assert (same["total"], same["unchanged"]) == (4, 4)
    for seats, changed in [({"gt": 12.5}, (1, 0)), ({"gte": 3}, (0, 1))]:
        rule = {**STAFF, "conditions": {"attributes": {"seats": seats}}}
        reply = api.post(f"/v1/policies/{policy.pk}/simulate", {"rules": [rule]})
        assert (reply["allowedToDenied"], reply["deniedToAllowed"]) == changed


def test_rules_and_tests_of_a_policy_may_have_attributes(api):
    test = {"requester": {"id": "org", "attributes": KNOWN}, "permission": "read", "expect": {"allowed": True}}
    body = {"name": "Staff", "rules": [STAFF]}
    assert api.post("/v1/policies", {**body, "tests": [test]}).status == 201
    fewer = {**test, "requester": {"id": "org", "attributes": {**KNOWN, "seats": 9}}}
    assert api.post("/v1/policies", {**body, "tests": [test, fewer]}).error["param"] == "tests[1]"
    wrong = {**test, "requester": {"id": "org", "attributes": {"seats": [9]}}}
    assert api.post("/v1/policies", {**body, "tests": [wrong]}).error["param"] == "tests[0].requester.attributes.seats"
    rule = {**STAFF, "conditions": {"attributes": {"seats": {"gte": "ten"}}}}
    reply = api.post("/v1/policies", {"name": "Staff", "rules": [rule]})
    assert (reply.status, reply.error["param"]) == (422, "rules[0].conditions.attributes.seats.gte")
