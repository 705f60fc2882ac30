from decimal import Decimal

import pytest
from django.db import connection
from django.db.utils import IntegrityError

from analytics.models import Grant, Wallet, WalletEntry
from tests import auditlog, factories


@pytest.fixture
def held(account):
    return factories.license(account)


@pytest.fixture
def wallet(api, held):
    return api.post("/v1/wallets", {"requesterId": "org_acme", "unit": "USD"}).body


@pytest.fixture
def grant(api, wallet):
    def post(amount, **fields):
        return api.post(f"/v1/wallets/{wallet['id']}/grants", {"amount": amount, **fields})

    return post


@pytest.fixture
def balance(api, wallet):
    return lambda: api.get(f"/v1/wallets/{wallet['id']}")["balance"]


def entries(api, wallet):
    listed = api.get(f"/v1/wallets/{wallet['id']}/entries")["data"]
    return [(one["type"], one["amount"]) for one in reversed(listed)]


def test_a_wallet_comes_back_with_every_field(api, held, clock):
    terms = {"floor": -5, "thresholds": [{"value": 100}, {"percent": 20}]}
    made = api.post("/v1/wallets", {"requesterId": "org_acme", "licenseId": held.pk, "unit": "EUR", **terms})
    assert (made.status, made["id"][:4]) == (201, "wal_")
    moment = "2026-03-04T05:06:07.250000Z"
    assert made.body == {
        "id": made["id"], "object": "wallet", "requesterId": "org_acme", "requesterName": None, "licenseId": held.pk,
        "unit": "EUR", "balance": 0, **terms, "refill": None, "nextRefillAt": None, "created": moment,
        "updated": moment,
    }  # fmt: skip
    assert api.get(f"/v1/wallets/{made['id']}").body == made.body
    assert api.get("/v1/wallets")["data"] == [made.body]


def test_a_second_wallet_of_requester_licence_and_unit_is_a_conflict_that_names_the_first(api, held, wallet):
    def create(**fields):
        return api.post("/v1/wallets", {"requesterId": "org_acme", **fields})

    assert [create(unit=unit).status for unit in ("EUR", "access")] == [201, 201]
    of_licence = create(unit="USD", licenseId=held.pk)
    assert of_licence.status == 201
    for first, fields in ((wallet, {}), (of_licence, {"licenseId": held.pk})):
        again = create(unit="USD", **fields)
        assert again.status_and_param == (409, "unit")
        assert first["id"] in again.error["message"]


def test_the_list_is_filtered_and_refuses_unknown_units(api, wallet, held):
    other = api.post("/v1/wallets", {"requesterId": "org_acme", "unit": "access", "licenseId": held.pk})["id"]
    for query, found in (
        ("requesterId=org_acme", [other, wallet["id"]]), (f"licenseId={held.pk}", [other]), ("unit=DEM", []),
        ("unit=USD", [wallet["id"]]), ("unit[in]=USD,EUR", [wallet["id"]]), ("unit[ne]=access", [wallet["id"]]),
        ("requesterId=nobody", []),
    ):  # fmt: skip
        assert [one["id"] for one in api.get(f"/v1/wallets?{query}")["data"]] == found
    for query in ("unit=usd", "unit=accesses", "unit[in]=USD,usd"):
        assert api.get(f"/v1/wallets?{query}").status_and_param == (400, query.partition("=")[0])


def test_a_wallet_keeps_its_requester_licence_and_unit(api, wallet):
    address = f"/v1/wallets/{wallet['id']}"
    for field, value in [("requesterId", "org_b"), ("licenseId", "lic_" + "0" * 26), ("unit", "EUR"), ("unit", "x")]:
        refused = api.patch(address, {field: value, "floor": -1})
        assert refused.status_and_param == (422, field)
        assert "cannot be changed" in refused.error["message"]
    assert api.get(address).body == wallet
    given = [{"value": 5}, {"percent": 20}, {"value": "5.00"}, {"percent": 20}]
    changed = api.patch(address, {"thresholds": given})
    assert (changed.status, changed["thresholds"]) == (200, [{"value": 5}, {"percent": 20}])


def test_a_wrong_field_is_refused_and_named(api, held):
    for fields, param in [
        ({"requesterId": "nobody"}, "requesterId"), ({"licenseId": "lic_" + "0" * 26}, "licenseId"),
        ({"unit": "coins"}, "unit"), ({"floor": 1}, "floor"),
        ({"thresholds": [{"value": 1, "percent": 5}]}, "thresholds[0]"),
        ({"refill": {"amount": 0, "every": "day"}}, "refill.amount"),
        ({"refill": {"amount": 5, "every": "hour"}}, "refill.every"),
        ({"refill": {"amount": 5, "every": "day", "rollover": {"min": 2, "max": 1}}}, "refill.rollover.min"),
        ({"unit": "access", "refill": {"amount": "1.5", "every": "day"}}, "refill.amount"),
    ]:  # fmt: skip
        reply = api.post("/v1/wallets", {"requesterId": "org_acme", "unit": "USD", **fields})
        assert reply.status_and_param == (422, param)
    assert not Wallet.objects.exists()


def test_grants_add_up_to_the_balance_exactly(api, wallet, grant, balance):
    made = grant("0.000001", kind="promotional", priority=3)
    assert (made.status, made["remaining"], made["status"], made["priority"]) == (201, 0.000001, "active", 3)
    grant("100")
    assert balance() == 100.000001
    assert entries(api, wallet) == [("grant", 0.000001), ("grant", 100)]
    assert [one["kind"] for one in api.get(f"/v1/wallets/{wallet['id']}/grants")["data"]] == ["paid", "promotional"]


def test_a_grant_of_a_known_external_id_adds_nothing(api, held, grant, balance):
    first, again = grant("5", externalId="inv-1"), grant("7", externalId="inv-1")
    assert (first.status, again.status, again.body) == (201, 200, first.body)
    assert balance() == 5
    other = api.post("/v1/wallets", {"requesterId": "org_acme", "unit": "EUR"})["id"]
    refused = api.post(f"/v1/wallets/{other}/grants", {"amount": 5, "externalId": "inv-1"})
    assert refused.status_and_param == (409, "externalId")
    assert first["id"] in refused.error["message"]
    assert first["walletId"] in refused.error["message"]


def test_a_wrong_grant_is_refused_and_adds_nothing(grant, balance):
    for fields, param in [
        ({"amount": "0"}, "amount"), ({"amount": "-1"}, "amount"), ({"kind": "refund"}, "kind"),
        ({"priority": 256}, "priority"), ({"expiresAt": "2020-01-01"}, "expiresAt"),
    ]:  # fmt: skip
        assert grant(**{"amount": "1", **fields}).status_and_param == (422, param)
    grant("1")
    assert grant(10**12).error["param"] == "amount"  # the sum would be too large
    assert balance() == 1


def test_a_void_takes_the_remaining_amount_back_once(api, wallet, grant, balance):
    kept, void = grant("3"), grant("5")
    for _ in range(2):
        reply = api.post(f"/v1/wallets/{wallet['id']}/grants/{void['id']}/void")
        assert (reply.status, reply["status"], reply["remaining"]) == (200, "voided", 0)
    assert balance() == 3
    assert entries(api, wallet) == [("grant", 3), ("grant", 5), ("void", -5)]
    assert api.post(f"/v1/wallets/{wallet['id']}/grants/grt_{'0' * 26}/void").status == 404
    assert Grant.objects.get(pk=kept["id"]).ended_at is None


def test_a_refill_comes_once_a_period_and_rolls_over(api, held, clock):
    clock.set("2026-01-31T12:00:00Z")
    refill = {"amount": 10, "every": "month", "rollover": {"min": 0, "max": 4}}
    made = api.post("/v1/wallets", {"requesterId": "org_acme", "unit": "access", "refill": refill})
    assert (made["balance"], made["nextRefillAt"]) == (10, "2026-02-28T12:00:00.000000Z")
    seen = []
    for moment in ("2026-02-28T11:59:59Z", "2026-02-28T12:00:00Z", "2026-03-30T00:00:00Z", "2026-04-30T12:00:00Z"):
        clock.set(moment)
        shown = api.get(f"/v1/wallets/{made['id']}")
        seen.append((shown["balance"], shown["nextRefillAt"][:10]))
    assert seen == [(10, "2026-02-28"), (14, "2026-03-31"), (14, "2026-03-31"), (14, "2026-05-31")]
    period = [("expire", -6), ("carry", -4), ("carry", 4), ("grant", 10)]
    later = [("expire", -10), ("carry", -4), ("carry", 4), ("grant", 10)]
    assert entries(api, made) == [("grant", 10), *period, *later, *later]
    granted = api.get(f"/v1/wallets/{made['id']}/grants")["data"]
    assert [one["created"] for one in granted] == [one["effectiveAt"] for one in granted]


@pytest.mark.parametrize(("rollover", "expected"), [
    pytest.param({"min": 2, "max": 10}, {"granted": 20, "expired": 0, "closing": 20}, id="all rolls over"),
    pytest.param({"min": 0, "max": 4}, {"granted": 20, "expired": 6, "closing": 14}, id="some"),
    pytest.param({"min": 12, "max": 12}, {"granted": 22, "expired": 0, "closing": 22}, id="more than was left"),
])  # fmt: skip
def test_a_statement_shows_no_rollover_as_granted_or_expired(api, held, clock, rollover, expected):
    clock.set("2026-01-10T00:00:00Z")
    refill = {"amount": 10, "every": "week", "rollover": rollover}
    made = api.post("/v1/wallets", {"requesterId": "org_acme", "unit": "access", "refill": refill})
    clock.set("2026-01-17T00:00:00Z")
    entries(api, made)
    [statement] = api.get("/v1/statements", requesterId="org_acme")["data"]
    assert statement["credits"] == {"opening": 0, "spent": 0, "refunded": 0, **expected}


def test_a_refill_whose_period_was_changed_ends_with_the_new_period(api, held, clock):
    day = {"amount": 10, "every": "day"}
    made = api.post("/v1/wallets", {"requesterId": "org_acme", "unit": "access", "refill": day})
    address = f"/v1/wallets/{made['id']}"
    api.patch(address, {"refill": {"amount": 10, "every": "week"}})
    clock.advance(days=2)
    ended = api.patch(address, {"refill": None})
    assert ended["balance"] == 10
    [grant] = api.get(f"{address}/grants")["data"]
    assert (grant["status"], grant["expiresAt"]) == ("active", "2026-03-11T05:06:07.250000Z")
    clock.advance(days=5)
    assert entries(api, made) == [("grant", 10), ("expire", -10)]


def test_access_compares_an_amount_or_the_least_charge_with_the_balance(api, wallet, grant):
    address = f"/v1/wallets/{wallet['id']}/access"
    assert api.get(address).body == {"hasAccess": False, "balance": 0, "available": 0}
    grant("0.000001")
    assert api.get(address)["hasAccess"] is True
    grant("4.999999")
    assert api.get(address, amount="5").body == {"hasAccess": True, "balance": 5, "available": 5}
    assert api.get(address, amount="5.000001")["hasAccess"] is False
    assert api.get(address, amount="-1").error["param"] == "amount"
    assert WalletEntry.objects.count() == 2
    quota = f"/v1/wallets/{api.post('/v1/wallets', {'requesterId': 'org_acme', 'unit': 'access'})['id']}"
    for amount in (0, 1):
        assert api.get(f"{quota}/access")["hasAccess"] is bool(amount)
        api.post(f"{quota}/grants", {"amount": 1})


def test_a_wallet_can_be_changed_but_not_its_balance(api, wallet, grant):
    grant("5")
    assert api.patch(f"/v1/wallets/{wallet['id']}", {"floor": "-1", "balance": 7}).status_and_param == (422, "balance")
    assert api.patch(f"/v1/wallets/{wallet['id']}", {"balance": "5.00"})["floor"] == 0
    changed = api.patch(f"/v1/wallets/{wallet['id']}", {"floor": "-2.5", "thresholds": [{"percent": 50}]})
    assert (changed["floor"], changed["thresholds"], changed["balance"]) == (-2.5, [{"percent": 50}], 5)
    assert api.get(f"/v1/wallets/{wallet['id']}/access", amount="7.5")["hasAccess"] is True


def test_entries_and_grants_are_audited_and_never_changed(api, wallet, grant):
    made = grant("5")
    [entry] = auditlog.entries(resource_id=made["id"])
    assert (entry.action, entry.changes["amount"]) == ("grant.created", [None, "5"])
    assert [one.action for one in auditlog.entries(resource_id=wallet["id"])] == ["wallet.created"]
    grant("5")
    with pytest.raises(IntegrityError), connection.cursor() as cursor:
        cursor.execute("UPDATE analytics_walletentry SET amount = 1")


def test_the_requester_knows_its_wallets(held, wallet):
    held.requester.refresh_from_db()
    [(_, unit, of_license)] = held.requester.wallets
    assert (unit, of_license, Wallet.objects.get().balance) == ("USD", None, Decimal(0))
