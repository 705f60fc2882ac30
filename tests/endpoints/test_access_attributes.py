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
        assert check(attributes).status_and_param == (422, param)


def test_each_check_of_a_batch_uses_its_own_attributes(api, item):
    def batch(checks, requester="org_acme"):
        checks = [{"contentId": item.pk, **fields} for fields in checks]
        return api.post("/v1/access/check/batch", {"requester": requester, "checks": checks})

    reply = batch([{"requester": "org"}, {"requester": {"id": "org", "attributes": {"a": None, "b": []}}}])
    assert reply.status == 422
    wrong = {f"checks[1].requester.attributes.{name}" for name in "ab"}
    assert {one["param"] for one in reply.error["errors"]} == wrong
    api.post("/v1/requesters", {"id": "org_acme", "metadata": KNOWN})
    assert [one["allowed"] for one in batch([{}, {"requester": "org_other"}, {}])["data"]] == [True, False, True]
    on_trial = {"id": "org_acme", "attributes": {**KNOWN, "trial": True}}
    reply = batch([{}, {"requester": on_trial}, {}], {"id": "org_acme", "attributes": KNOWN})
    assert [one["allowed"] for one in reply["data"]] == [True, False, True]


def test_a_recorded_decision_keeps_its_attributes(api, check):
    api.post("/v1/requesters", {"id": "org_acme", "metadata": KNOWN})
    said, stored = check({"country": "FR"})["id"], check()["id"]
    api.patch("/v1/requesters/org_acme", {"metadata": None})
    shown = [api.get(f"/v1/access/decisions/{one}")["requester"] for one in (said, stored)]
    assert [one["attributes"] for one in shown] == [{"country": "FR"}, KNOWN]
    assert check(explain=True)["trace"][0]["failed"]["saw"] is None
