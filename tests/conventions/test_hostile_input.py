from datetime import UTC, datetime

import orjson
import pytest

from accounts.plans.epochs import current_epoch
from analytics.recording import recorder
from kit.http.parsing import object_of_pairs
from kit.values import ids
from licensing.access.check_values import Check
from licensing.access.decisions import decide_checks
from licensing.access.lookup.items import find_items
from licensing.access.lookup.requesters import keep_requesters
from licensing.access.subjects import LookupResult
from tests import factories


def test_queries_that_are_too_long_or_not_utf8_are_refused(api):
    reply = api.get("/v1/content?" + "&".join(f"a{number}=1" for number in range(1001)))
    assert reply.status_and_code == (400, "invalid_request")
    for text in ("%FF", "%ED%A0%80", "%C3"):
        assert api.get(f"/v1/content?title={text}").status_and_param == (400, "title")


def test_a_repeated_key_is_found_in_one_pass():
    pairs = [(str(number), number) for number in range(200_000)]
    with pytest.raises(Exception, match="twice"):
        object_of_pairs([*pairs, pairs[-1]])


NUMBERS = pytest.mark.parametrize("number", [1e22, 1e19, 12345678901234567.0, 0.1, -1.5e-7, 9_223_372_036_854_775_807])


@NUMBERS
def test_a_number_in_metadata_checks_and_policies_comes_back_equal(api, number, account):
    item = api.post("/v1/content", {"title": "A", "metadata": {"number": number}})
    assert item.status == 201
    assert api.get(f"/v1/content/{item['id']}")["metadata"]["number"] == number
    assert api.get("/v1/content").status == 200

    check = {"contentId": factories.content(account).pk, "requester": {"id": "org_a", "attributes": {"seats": number}}}
    made = api.post("/v1/access/check", check)
    [listed] = api.get("/v1/access/decisions")["data"]
    one = api.get(f"/v1/access/decisions/{made['id']}")
    assert listed["requester"] == one["requester"]
    assert str(number) in str(one) or str(int(number)) in str(one)
    assert api.get("/v1/access/decisions?format=csv").status == 200

    rule = {"action": "allow", "conditions": {"attributes": {"seats": {"gte": number}}}, "permissions": ["read"]}
    test = {"name": "Many", "requester": {"id": "org_a", "attributes": {"seats": number}}, "expect": {"allowed": True}}
    policy = api.post("/v1/policies", {"name": "A", "rules": [rule], "tests": [test]})
    assert policy.status == 201
    [shown] = api.get("/v1/policies")["data"]
    assert shown["rules"][0]["conditions"]["attributes"]["seats"]["gte"] == number
    assert shown["tests"][0]["requester"]["attributes"]["seats"] == number
    item = factories.content(account, policy_id=policy["id"])
    check = {"contentId": item.pk, "requester": {"id": "org_a", "attributes": {"seats": number}}, "explain": True}
    assert api.post("/v1/access/check", check)["allowed"] is True


def test_digits_in_metadata_stay_text(api):
    for text in ["9" * 30, "-1", "1e5 and 18446744073709551616"]:
        item = api.post("/v1/content", {"title": "A", "metadata": {"text": text, "number": 1e19}})
        metadata = api.get(f"/v1/content/{item['id']}")["metadata"]
        assert metadata == {"text": text, "number": 1e19}, text
        assert isinstance(metadata["number"], float)  # whole numbers beyond 64 bits cannot be sent back, text


def test_rules_of_many_values_are_searched_fast_and_traced_in_part(api, account):
    addresses = [f"10.{high}.{low}.0/25" for high in range(2) for low in range(250)]
    rule = {"action": "allow", "conditions": {"ip": addresses}}
    item = factories.content(account, policy_id=factories.policy(account, rule).pk)
    for address, allowed in (("10.1.249.5", True), ("10.1.249.200", False), ("10.2.0.1", False), ("9.9.9.9", False)):
        reply = api.post("/v1/access/check", {"contentId": item.pk, "requester": "r", "context": {"ip": address}})
        assert reply["allowed"] is allowed

    rule = {"action": "allow", "conditions": {"requesterId": [f"org_{number}" for number in range(500)]}}
    item = factories.content(account, policy_id=factories.policy(account, rule).pk)
    reply = api.post("/v1/access/check", {"contentId": item.pk, "requester": "x", "explain": True})
    assert len(reply["trace"][0]["failed"]["wanted"]) == 50


def test_decisions_keep_the_name_they_were_answered_with(api, account):
    api.post("/v1/access/check", {"contentId": "cnt_unknown", "requester": "nobody"})
    assert not account.requester_set.exists()
    item = factories.content(account)
    nameless = api.post("/v1/access/check", {"contentId": item.pk, "requester": "nm1"})
    api.post("/v1/access/check", {"contentId": item.pk, "requester": {"id": "nm1", "name": "Acme"}})
    assert api.get(f"/v1/access/decisions/{nameless['id']}")["requester"] == {"id": "nm1", "name": None}

    item = factories.content(account)
    checks = [{"contentId": item.pk, "requester": who} for who in ({"id": "v0", "name": "Acme"}, "v0")]
    api.post("/v1/access/check/batch", {"checks": checks}, headers={"Idempotency-Key": "one"})
    assert api.post("/v1/access/check", {"contentId": item.pk, "requester": "v0"})["requester"]["name"] == "Acme"


def test_claims_of_two_windows_in_one_commit_are_counted_in_their_own(account):
    rule = factories.ALLOW_ALL | {"rateLimit": {"requests": 1, "period": "second"}}
    content = factories.content(account, policy_id=factories.policy(account, rule).pk)
    selector = ("contentId", content.pk)
    items, requesters = find_items(account.pk, [selector]), keep_requesters(account.pk, {"r": None})
    key, found = ids.id_to_hex("acc", account.pk), LookupResult(current_epoch(account.pk), items, requesters)

    def entry(second: int):
        now = datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)
        return decide_checks([Check(selector, "r")], found, key, now).entries[0]

    first, second = entry(1), entry(2)
    outcomes = recorder.record([first, second])
    assert (outcomes[0].remaining_before, outcomes[0].is_stored) == (1, True)
    assert not outcomes[1].is_stored, "it is to be decided again, in a batch of its own"
    assert recorder.record([second])[0].remaining_before == 1


def test_a_hundred_cold_policies_are_read_in_one_query(api, account):
    items = [factories.content(account, policy_id=factories.policy(account).pk) for _ in range(100)]
    reply = api.post(
        "/v1/access/check/batch", {"requester": "r", "checks": [{"contentId": item.pk} for item in items]}
    )
    assert len(orjson.loads(reply.content)["data"]) == 100
