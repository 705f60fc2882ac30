from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEntry
from analytics.models import RuleUsage, WalletEntry
from licensing.requesters.models import Requester
from tests import factories

LIMITED = {**factories.ALLOW_ALL, "rateLimit": {"requests": 3, "period": "month"}}


@pytest.fixture
def pair(api):
    api.post("/v1/requesters", {"id": "org_a", "name": "Acme Inc.", "email": "a@acme.example"})
    api.post("/v1/requesters", {"id": "org_b", "name": "Acme"})


def merge(api, source="org_a", into="org_b", **options):
    return api.post(f"/v1/requesters/{source}/merge", {"into": into}, **options)


def check(api, item, requester="org_a"):
    return api.post("/v1/access/check", {"contentId": item, "requester": requester})


@pytest.fixture
def licensed_item(item):
    return item.pk


@pytest.mark.usefixtures("pair")
def test_the_reply_is_the_requester_that_gets_everything(api):
    reply = merge(api)
    assert (reply.status, reply.body) == (200, api.get("/v1/requesters/org_b").body)
    assert (reply["id"], reply["name"], reply["email"]) == ("org_b", "Acme", None)
    assert "mergedInto" not in reply.body
    merged = api.get("/v1/requesters/org_a").body
    assert (merged["id"], merged["name"], merged["mergedInto"]) == ("org_a", "Acme Inc.", "org_b")
    reply = api.patch("/v1/requesters/org_a", {"name": "Changed"})
    assert reply.status_and_code == (409, "resource_in_use")
    assert reply.error["message"] == "'org_a' was merged into 'org_b'. Change 'org_b' instead."
    assert api.patch("/v1/requesters/org_a", {"name": merged["name"]}).status == 200
    assert api.get("/v1/requesters/org_a").body == merged
    assert api.patch("/v1/requesters/org_b", {"name": "Changed"})["name"] == "Changed"


@pytest.mark.usefixtures("pair")
def test_checks_of_either_id_are_decided_and_recorded_as_the_others(api, licensed_item):
    held = api.post("/v1/licenses", {"requesterId": "org_a", "licenseType": "commercial"})["id"]
    assert (check(api, licensed_item)["allowed"], check(api, licensed_item, "org_b")["allowed"]) == (True, False)
    merge(api)
    for asked in ("org_a", "org_b", {"id": "org_a", "name": "Renamed"}):
        decision = check(api, licensed_item, asked)
        assert (decision["allowed"], decision["requester"]) == (True, {"id": "org_b", "name": "Acme"})
        assert decision["license"]["id"] == held
        assert api.get(f"/v1/access/decisions/{decision['id']}")["requester"]["id"] == "org_b"


@pytest.mark.usefixtures("pair")
def test_a_rule_and_its_limit_follow_a_merge(api, account):
    rule = {"action": "allow", "conditions": {"requesterId": ["org_b"]}}
    item = factories.content(account, policy_id=factories.policy(account, rule).pk).pk
    assert check(api, item)["allowed"] is False
    merge(api)
    assert check(api, item)["allowed"] is True
    item = factories.content(account, policy_id=factories.policy(account, LIMITED).pk).pk
    assert [check(api, item, one)["allowed"] for one in ("org_a", "org_b")] == [True, True]
    merge(api)
    assert [check(api, item)["allowed"] for _ in range(2)] == [True, False]
    assert RuleUsage.objects.get().used == 3


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize("order", [("org_a", "org_b"), ("org_b", "org_a")])
def test_after_a_merge_only_the_newest_window_of_a_limit_counts(api, account, clock, order):
    item = factories.content(account, policy_id=factories.policy(account, LIMITED).pk).pk
    for requester, accesses in zip(order, (3, 2), strict=True):
        clock.advance(days=31)
        assert [check(api, item, requester)["allowed"] for _ in range(accesses)] == [True] * accesses
    merge(api)
    assert [check(api, item)["allowed"] for _ in range(2)] == [True, False]


@pytest.mark.usefixtures("pair")
def test_history_is_found_under_both_ids(api, licensed_item):
    before = [check(api, licensed_item, one)["id"] for one in ("org_a", "org_a", "org_b")]
    merge(api)
    after = check(api, licensed_item)["id"]

    def found(requester):
        page = api.get(f"/v1/access/decisions?requesterId={requester}&count=exact")
        assert page["totalCount"] == len(page["data"])
        return {one["id"] for one in page["data"]}

    assert found("org_a") == set(before[:2])
    assert found("org_b") == {*before, after}
    assert api.get("/v1/requesters/org_a")["stats"]["denied"] == 2
    assert api.get("/v1/requesters/org_b")["stats"]["denied"] == 4


@pytest.mark.usefixtures("pair")
def test_wallets_move_with_their_refill(api):
    def wallet(requester, unit, amount, **fields):
        made = api.post("/v1/wallets", {"requesterId": requester, "unit": unit, **fields})["id"]
        assert api.post(f"/v1/wallets/{made}/grants", {"amount": amount, "externalId": made}).status == 201
        return made

    alone = wallet("org_a", "USD", 7)
    given = wallet("org_a", "EUR", 30, refill={"amount": 100, "every": "month"})
    got = wallet("org_b", "EUR", 12)
    merge(api)
    found = {one["id"]: (one["requesterId"], one["balance"]) for one in api.get("/v1/wallets")["data"]}
    assert found == {alone: ("org_b", 7), given: ("org_a", 0), got: ("org_b", 142)}
    for one in found:
        entries = WalletEntry.objects.filter(wallet=one).values_list("amount", flat=True)
        assert sum(entries, Decimal(0)) == found[one][1]
    assert {one["externalId"] for one in api.get(f"/v1/wallets/{got}/grants")["data"]} == {given, got, None}
    assert api.post(f"/v1/wallets/{got}/grants", {"amount": 30, "externalId": given}).status == 200
    kept = api.get(f"/v1/wallets/{got}")
    assert kept["refill"]["amount"] == 100
    assert kept["nextRefillAt"] is not None


@pytest.mark.usefixtures("pair")
def test_credit_of_both_pays_for_checks_of_both_ids(api, account, licensed_item):
    api.post(
        "/v1/licenses",
        {"requesterId": "org_a", "licenseType": "commercial", "pricePerAccess": {"amount": 1, "currency": "EUR"}},
    )
    for one in ("org_a", "org_b"):
        made = api.post("/v1/wallets", {"requesterId": one, "unit": "EUR"})["id"]
        api.post(f"/v1/wallets/{made}/grants", {"amount": 1})
    merge(api)
    replies = [check(api, licensed_item, one) for one in ("org_a", "org_b", "org_a")]
    assert [one["allowed"] for one in replies] == [True, True, False]
    assert replies[2]["reason"] == "credits_exhausted"


@pytest.mark.usefixtures("pair")
def test_licences_and_their_wallets_and_clients_move(api):
    held = api.post("/v1/licenses", {"requesterId": "org_a", "licenseType": "x"})["id"]
    wallet = api.post("/v1/wallets", {"requesterId": "org_a", "licenseId": held, "unit": "access"})["id"]
    client = api.post("/v1/license-clients", {"requesterId": "org_a"})["id"]
    merge(api)
    paths = (f"/v1/licenses/{held}", f"/v1/wallets/{wallet}", f"/v1/license-clients/{client}")
    assert [api.get(path)["requesterId"] for path in paths] == ["org_b"] * 3
    assert api.get(f"/v1/wallets/{wallet}")["licenseId"] == held
    event = api.get("/v1/events?type=license.updated")["data"][0]
    assert (event["data"]["requesterId"], event["previous"]["requesterId"]) == ("org_b", "org_a")


@pytest.mark.usefixtures("pair")
def test_writes_with_the_former_id_go_to_the_current_requester(api):
    rows = [
        {"requesterId": one, "requesterName": one, "licenseType": "x", "externalId": one} for one in ("org_a", "org_b")
    ]
    assert [one["status"] for one in api.post("/v1/licenses/bulk", {"items": rows})["data"]] == [201, 201]
    merge(api)
    assert api.post("/v1/licenses", {"requesterId": "org_a", "licenseType": "y"})["requesterId"] == "org_b"
    assert api.post("/v1/wallets", {"requesterId": "org_a", "unit": "EUR"})["requesterId"] == "org_b"
    assert api.post("/v1/license-clients", {"requesterId": "org_a"})["requesterId"] == "org_b"
    before = [api.get(f"/v1/{path}").body for path in ("licenses", "events", "audit")]
    for _ in range(2):
        replies = api.post("/v1/licenses/bulk", {"items": rows})["data"]
        assert [one["status"] for one in replies] == [200, 200]
        assert {one["license"]["requesterName"] for one in replies} == {"Acme"}
    assert [api.get(f"/v1/{path}").body for path in ("licenses", "events", "audit")] == before
    held = replies[0]["license"]["id"]
    assert api.patch(f"/v1/licenses/{held}", {"requesterId": "org_a", "tags": ["t"]}).status == 200


@pytest.mark.usefixtures("pair")
def test_a_merged_id_is_repeated_or_erased_with_its_target(api):
    first = merge(api, headers={"Idempotency-Key": "k"})
    entries = AuditEntry.objects.count()
    assert merge(api, headers={"Idempotency-Key": "k"}).headers["Idempotent-Replayed"] == "true"
    assert merge(api).body == first.body
    assert AuditEntry.objects.count() == entries
    entry = AuditEntry.objects.get(action="requester.merged")
    assert (entry.resource_id, entry.changes) == ("org_a", {"into": [None, "org_b"]})
    merge(api)
    api.delete("/v1/requesters/org_b")
    shown = api.get("/v1/requesters")["data"]
    assert all(one["id"].startswith("erased_") and one["name"] is one["email"] is None for one in shown)


@pytest.mark.usefixtures("pair")
def test_merges_of_merged_requesters_lead_to_the_last(api, licensed_item):
    api.post("/v1/licenses", {"requesterId": "org_c", "licenseType": "commercial"})
    merge(api)
    assert merge(api, "org_b", "org_c")["id"] == "org_c"
    assert api.get("/v1/requesters/org_a")["mergedInto"] == "org_c"
    assert check(api, licensed_item)["requester"]["id"] == "org_c"
    reply = merge(api, "org_a", "org_b")
    assert (reply.status, reply["id"]) == (200, "org_c")
    assert merge(api, "org_c", "org_a").error["param"] == "into"


@pytest.mark.usefixtures("pair")
def test_a_second_merge_is_refused(api, other_api):
    api.post("/v1/requesters", {"id": "org_c"})
    merge(api)
    elsewhere, back = merge(api, "org_a", "org_c"), merge(api, "org_b", "org_a")
    assert elsewhere.status_and_code == (409, "resource_in_use")
    assert "'org_b'" in elsewhere.error["message"]
    assert back.status_and_param == (422, "into")
    assert "'org_a' was merged into this requester" in back.error["message"]
    other_api.post("/v1/requesters", {"id": "org_z"})
    assert merge(api, "org_a", "org_z").error["param"] == "into"


@pytest.mark.usefixtures("pair")
def test_a_merge_that_cannot_be_is_refused(api, monkeypatch):
    for source, into, status, param in [
        ("org_a", "org_a", 422, "into"), ("org_a", "nobody", 422, "into"), ("org_a", "", 422, "into"),
        ("org_a", None, 422, "into"), ("nobody", "org_b", 404, None),
    ]:  # fmt: skip
        reply = merge(api, source, into)
        assert (reply.status, reply.error.get("param")) == (status, param)
    for one in ("org_a", "org_b"):
        api.post("/v1/licenses", {"requesterId": one, "licenseType": "x"})
    monkeypatch.setattr("licensing.licenses.services.MAX_LICENSES", 1)
    assert merge(api).error["param"] == "into"
    assert not Requester.objects.filter(merged_into__isnull=False).exists()
    assert {one["requesterId"] for one in api.get("/v1/licenses")["data"]} == {"org_a", "org_b"}


def test_an_id_that_ends_like_the_path_can_be_read_changed_and_merged(api):
    for one in ("a/merge", "b"):
        api.post("/v1/requesters", {"id": one})
    assert api.patch("/v1/requesters/a%2Fmerge", {"name": "A"})["id"] == "a/merge"
    assert merge(api, "a%2Fmerge", "b")["id"] == "b"
    assert api.get("/v1/requesters/a%2Fmerge")["mergedInto"] == "b"


def test_the_number_of_statements_does_not_depend_on_the_number_of_licences(api, account):
    statements = []
    for licenses in (1, 2, 20):  # the first request also notes the key's use
        source, target = f"org_with_{licenses}", f"org_to_get_{licenses}"
        factories.requester(account, requester_id=target)
        for _ in range(licenses):
            factories.license(account, source)
            factories.license_client(account, source)
        with CaptureQueriesContext(connection) as captured:
            assert merge(api, source, target).status == 200
        statements.append(len(captured))
    assert statements[1] == statements[2]
