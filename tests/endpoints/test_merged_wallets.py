from datetime import timedelta

import pytest

from analytics.statements.checking import find_differences
from analytics.statements.closing import close_due

PRICE = {"pricePerAccess": {"amount": 1, "currency": "EUR"}}


@pytest.fixture
def pair(api):
    for one in ("org_a", "org_b", "org_c"):
        api.post("/v1/requesters", {"id": one})


def merge(api, source="org_a", into="org_b"):
    return api.post(f"/v1/requesters/{source}/merge", {"into": into})


def open_wallet(api, requester, **fields):
    return api.post("/v1/wallets", {"requesterId": requester, "unit": "EUR", **fields})["id"]


def check(api, item):
    return api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_a"})


def balances(api):
    return {one["id"]: one["balance"] for one in api.get("/v1/wallets")["data"]}


def credits_of(api, requester):
    """Return the credit figures of the requester's statements by month and unit, oldest first."""
    rows = api.get(f"/v1/statements?requesterId={requester}&sort=created")["data"]
    return {(row["month"], row["currency"]): row["credits"] for row in rows if row["credits"]}


def assert_carried_on(found):
    """Assert that every statement adds up and opens with the previous closing balance."""
    closing = {}
    for (_, unit), one in found.items():
        assert one["opening"] == closing.get(unit, 0)
        assert one["opening"] + one["granted"] - one["spent"] - one["expired"] + one["refunded"] == one["closing"]
        closing[unit] = one["closing"]
    return closing


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize("is_closed", [True, False])
@pytest.mark.parametrize("has_own", [True, False])
def test_statements_carry_credit_from_the_one_to_the_other(api, item, clock, is_closed, has_own):
    api.post("/v1/licenses", {"requesterId": "org_a", "licenseType": "commercial", **PRICE})
    for one in ("org_a", "org_b") if has_own else ("org_a",):
        api.post(f"/v1/wallets/{open_wallet(api, one)}/grants", {"amount": 10})
    assert check(api, item)["allowed"] is True
    clock.advance(days=31)
    if is_closed:
        close_due()
    assert check(api, item)["allowed"] is True
    merge(api)
    assert check(api, item)["allowed"] is True
    months = sorted({f"{moment:%Y-%m}" for moment in (clock.now - timedelta(days=31), clock.now)})
    before = credits_of(api, "org_a")[months[0], "EUR"]
    assert (before["granted"], before["spent"], before["closing"]) == (10, 1, 9)
    own = 10 if has_own else 0
    assert assert_carried_on(credits_of(api, "org_a")) == {"EUR": 0}
    assert assert_carried_on(credits_of(api, "org_b")) == {"EUR": 7 + own}
    assert sum(balances(api).values()) == 7 + own
    if not has_own:  # without a wallet there is no statement of an earlier month
        assert [month for month, _ in credits_of(api, "org_b")] == [months[1]]
    open_ones = {one: credits_of(api, one) for one in ("org_a", "org_b")}
    clock.advance(days=62)
    close_due()
    assert {one: credits_of(api, one) for one in ("org_a", "org_b")} == open_ones


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize("has_own", [True, False])
def test_what_was_used_on_account_stays_a_debt_and_takes_nothing_from_the_credit_of_the_other(api, item, has_own):
    api.post("/v1/licenses", {"requesterId": "org_a", "licenseType": "commercial", **PRICE})
    left = open_wallet(api, "org_a", floor=-3)
    if has_own:
        current = open_wallet(api, "org_b")
        api.post(f"/v1/wallets/{current}/grants", {"amount": 5})
    assert [check(api, item)["allowed"] for _ in range(4)] == [True, True, True, False]
    merge(api)
    assert balances(api) == ({left: 0, current: 5} if has_own else {left: 0})
    assert assert_carried_on(credits_of(api, "org_a")) == {"EUR": 0}
    [owed] = api.get("/v1/statements?requesterId=org_a")["data"]
    assert owed["closing"] == 3
    assert [check(api, item)["allowed"] for _ in range(6)] == [True] * (5 if has_own else 3) + [False] * (
        1 if has_own else 3
    )
    assert find_differences() == []


@pytest.mark.usefixtures("pair")
def test_accesses_that_were_used_beyond_a_quota_are_taken_from_that_of_the_other(api, item):
    api.post("/v1/licenses", {"requesterId": "org_a", "licenseType": "commercial"})
    left, current = (open_wallet(api, one, unit="access") for one in ("org_a", "org_b"))
    api.patch(f"/v1/wallets/{left}", {"floor": -3})
    api.post(f"/v1/wallets/{current}/grants", {"amount": 5})
    assert [check(api, item)["allowed"] for _ in range(4)] == [True, True, True, False]
    merge(api)
    assert balances(api) == {left: 0, current: 2}
    assert find_differences() == []


@pytest.mark.usefixtures("pair")
def test_credit_that_moves_twice_is_on_the_statement_of_the_last(api, clock):
    made = open_wallet(api, "org_a")
    for source, into in (("org_a", "org_b"), ("org_b", "org_c")):
        api.post(f"/v1/wallets/{made}/grants", {"amount": 5})
        clock.advance(hours=1)
        merge(api, source, into)
        clock.advance(hours=1)
    closing = {one: assert_carried_on(credits_of(api, one)) for one in ("org_a", "org_b", "org_c")}
    assert closing == {"org_a": {"EUR": 0}, "org_b": {"EUR": 0}, "org_c": {"EUR": 10}}


@pytest.mark.usefixtures("pair")
def test_a_refund_and_new_credit_reach_the_wallet_that_got_the_credit(api, item):
    api.post("/v1/licenses", {"requesterId": "org_a", "licenseType": "commercial", **PRICE})
    left, current = open_wallet(api, "org_a"), open_wallet(api, "org_b")
    api.post(f"/v1/wallets/{left}/grants", {"amount": 5, "externalId": "order-1"})
    decision = check(api, item)["id"]
    merge(api)
    refund = {"amount": "-0.5", "currency": "EUR", "decisionId": decision}
    for about in ({}, {"requesterId": "org_b"}):
        assert api.post("/v1/revenue", {**refund, **about})["requesterId"] == "org_b"
    assert balances(api) == {left: 0, current: 5}
    for reply in (
        api.post(f"/v1/wallets/{left}/grants", {"amount": 5}),
        api.patch(f"/v1/wallets/{left}", {"refill": {"amount": 5, "every": "month"}}),
    ):
        assert reply.status_and_code == (409, "resource_in_use")
        assert current in reply.error["message"]
    assert balances(api) == {left: 0, current: 5}


@pytest.mark.usefixtures("pair")
def test_a_retried_grant_adds_nothing_after_a_merge(api):
    left, current, other = (open_wallet(api, f"org_{one}") for one in "abc")
    grant = {"amount": 5, "externalId": "order-1"}
    made = api.post(f"/v1/wallets/{left}/grants", grant)
    merge(api)
    api.post(f"/v1/wallets/{current}/grants", {"amount": 1, "externalId": "order-2"})
    retried = api.post(f"/v1/wallets/{left}/grants", grant)
    assert (retried.status, retried["id"], retried["remaining"]) == (200, made["id"], 5)
    assert balances(api) == {left: 0, current: 6, other: 0}
    assert api.post(f"/v1/wallets/{other}/grants", grant).status_and_param == (409, "externalId")


@pytest.mark.usefixtures("pair")
def test_a_retried_grant_adds_nothing_after_two_merges_whichever_of_the_wallets_it_names(api):
    wallets = [open_wallet(api, f"org_{one}") for one in "abc"]
    grant = {"amount": 5, "externalId": "order-1"}
    made = api.post(f"/v1/wallets/{wallets[0]}/grants", grant)["id"]
    merge(api)
    api.post(f"/v1/wallets/{wallets[1]}/grants/{made}/void")  # it stays in this wallet
    merge(api, "org_b", "org_c")
    for wallet in wallets:
        retried = api.post(f"/v1/wallets/{wallet}/grants", grant)
        assert (retried.status, retried["id"]) == (200, made)
    assert balances(api) == dict.fromkeys(wallets, 0)


@pytest.mark.usefixtures("pair")
def test_a_refill_taken_over_by_a_merge_is_audited(api):
    open_wallet(api, "org_a", refill={"amount": 100, "every": "month"})
    kept = open_wallet(api, "org_b")
    before = api.get(f"/v1/wallets/{kept}")["updated"]
    merge(api)
    [entry] = api.get(f"/v1/audit?action=wallet.updated&resourceId={kept}")["data"]
    assert entry["changes"]["refill"] == [None, "100 every month"]
    assert api.get(f"/v1/wallets/{kept}")["updated"] > before


@pytest.mark.usefixtures("pair")
def test_a_removed_refill_brings_nothing_at_once_after_a_merge_either(api):
    refill = {"amount": 100, "every": "month"}
    kept = open_wallet(api, "org_b", refill=refill)
    open_wallet(api, "org_a")
    api.patch(f"/v1/wallets/{kept}", {"refill": None})
    merge(api)
    api.patch(f"/v1/wallets/{kept}", {"refill": refill})
    assert [one["amount"] for one in api.get(f"/v1/wallets/{kept}/grants")["data"]] == [100]


@pytest.mark.usefixtures("pair")
def test_a_change_that_still_names_the_merged_customer_applies_to_the_wallet(api):
    path = f"/v1/wallets/{open_wallet(api, 'org_a')}"
    sent = api.get(path).body
    del sent["updated"]  # the merge changes it
    merge(api)
    changed = api.patch(path, {**sent, "floor": -3})
    assert (changed.status, changed["requesterId"], changed["floor"]) == (200, "org_b", -3)
    assert api.patch(path, {**sent, "requesterId": "org_c"}).status_and_param == (422, "requesterId")


@pytest.mark.usefixtures("pair")
def test_wallets_that_together_exceed_the_largest_amount_are_not_merged(api):
    for one, amount in (("org_a", 1), ("org_b", 10**12)):
        api.post(f"/v1/wallets/{open_wallet(api, one)}/grants", {"amount": amount})
    assert merge(api).status_and_param == (422, "into")
    assert "mergedInto" not in api.get("/v1/requesters/org_a").body


def owed(api):
    """Return what each customer owes, from its latest statement in EUR."""
    rows = api.get("/v1/statements?currency=EUR&sort=created")["data"]
    return {row["requesterId"]: row["closing"] for row in rows}


@pytest.mark.usefixtures("pair")
@pytest.mark.parametrize(
    ("paid", "moved"), [(34, 30), (10, 10), (0, 0)], ids=["more than the credit", "a part of it", "nothing"]
)
@pytest.mark.parametrize("has_own", [True, False])
def test_the_money_that_paid_for_credit_goes_with_it(api, item, paid, moved, has_own):
    api.post("/v1/licenses", {"requesterId": "org_a", "licenseType": "commercial", **PRICE})
    wallets = {one: open_wallet(api, one) for one in (("org_a", "org_b") if has_own else ("org_a",))}
    api.post(f"/v1/wallets/{wallets['org_a']}/grants", {"amount": 21})
    api.post(f"/v1/wallets/{wallets['org_a']}/grants", {"amount": 10, "effectiveAt": "2199-01-01"})
    assert check(api, item)["allowed"] is True
    if paid:
        api.post("/v1/payments", {"requesterId": "org_a", "amount": paid + 1, "currency": "EUR"})
    before = owed(api)
    assert before["org_a"] == (-paid or 1)
    merge(api)
    assert merge(api).status == 200
    after = owed(api)
    assert after["org_a"] == before["org_a"] + moved
    assert after.get("org_b", 0) == -moved
    rows = api.get("/v1/payments?sort=created")["data"]
    pairs = [(row["requesterId"], row["kind"], row["amount"]) for row in rows[1 if paid else 0 :]]
    assert pairs == ([("org_a", "payout", moved), ("org_b", "payment", moved)] if moved else [])
    if moved:
        assert [row["externalId"] for row in rows[-2:]] == [rows[-1]["id"], rows[-2]["id"]]
        assert len(api.get("/v1/events?type=payment.created")["data"]) == 3
    assert not find_differences()


@pytest.mark.usefixtures("pair")
def test_money_in_another_currency_than_the_credit_stays_with_the_customer_that_paid(api):
    paid = api.post("/v1/payments", {"requesterId": "org_a", "amount": 10, "currency": "USD"})["id"]
    api.post(f"/v1/wallets/{open_wallet(api, 'org_a')}/grants", {"amount": 10})
    assert merge(api).status == 200
    assert [(one["id"], one["requesterId"]) for one in api.get("/v1/payments")["data"]] == [(paid, "org_a")]


@pytest.mark.usefixtures("pair")
def test_a_chargeback_after_a_merge_stays_with_the_customer_that_paid_until_the_moved_money_is_voided_too(api):
    def owed():
        rows = api.get("/v1/statements?sort=created")["data"]
        return {row["requesterId"]: row["closing"] for row in rows}

    paid = api.post("/v1/payments", {"requesterId": "org_a", "amount": 10, "currency": "EUR"})["id"]
    api.post(f"/v1/wallets/{open_wallet(api, 'org_a')}/grants", {"amount": 10})
    merge(api)
    assert owed() == {"org_a": 0, "org_b": -10}
    moved = [one["id"] for one in api.get("/v1/payments")["data"] if one["id"] != paid]
    assert api.post(f"/v1/payments/{paid}/void", {"reason": "Chargeback"})["requesterId"] == "org_a"
    assert owed() == {"org_a": 10, "org_b": -10}
    for one in moved:
        api.post(f"/v1/payments/{one}/void", {"reason": "Chargeback"})
    assert owed() == {"org_a": 0, "org_b": 0}
    assert find_differences() == []
