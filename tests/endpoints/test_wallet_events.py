from datetime import timedelta
from decimal import Decimal

import orjson
import pytest

from accounts.events import deadlines
from accounts.events.models import Event
from analytics.ledger.due import book_regularly
from tests import factories


@pytest.fixture
def wallet(api, account, clock):
    factories.license(account, per_access="0.05")
    return api.post("/v1/wallets", {"requesterId": "org_acme", "unit": "USD"})["id"]


@pytest.fixture
def grant(api, wallet):
    return lambda amount, **fields: api.post(f"/v1/wallets/{wallet}/grants", {"amount": amount, **fields})


def news():
    """Return the new events of wallets and grants since the last call: types, balances and previous balances."""
    found = Event.objects.filter(type__regex=r"^(wallet|grant)\.").order_by("created", "pk")
    told = []
    for event in found:
        data, previous = orjson.loads(event.data), orjson.loads(event.previous or "{}")
        told.append((event.type, data.get("balance", data.get("remaining")), previous.get("balance")))
    found.delete()
    return told


def test_a_balance_that_falls_past_a_threshold_is_announced_once_for_each_fall(api, wallet, grant, check):
    api.patch(f"/v1/wallets/{wallet}", {"thresholds": [{"value": "0.9"}, {"percent": 91}]})
    grant(1)
    assert news() == [("wallet.topped_up", 1, 0)]
    check()
    assert news() == []
    check()
    assert news() == [("wallet.low", 0.9, 0.95), ("wallet.low", 0.9, 0.95)]
    check()
    assert news() == []
    grant("0.1")
    assert news() == [("wallet.topped_up", 0.95, 0.85)]
    check()
    assert news() == [("wallet.low", 0.9, 0.95)]  # of the new 0.95, 91 % are less


def test_events_of_a_batch_show_the_wallet_as_their_check_left_it(api, item, wallet, grant):
    api.patch(f"/v1/wallets/{wallet}", {"thresholds": [{"value": "0.15"}]})
    grant("0.22")
    news()
    answers = api.post("/v1/access/check/batch", {"requester": "org_acme", "checks": [{"contentId": item.pk}] * 5})
    assert [one["allowed"] for one in answers["data"]] == [True] * 4 + [False]
    assert news() == [("wallet.low", 0.12, 0.17), ("wallet.exhausted", 0.02, 0.02)]


def test_a_wallet_is_exhausted_once_until_credit_is_added(grant, check):
    for amount, left in [("0.1", 0), ("0.12", 0.02)]:
        grant(amount)
        news()
        assert [check()["allowed"] for _ in range(4)] == [True, True, False, False]
        [(type_, balance, _)] = news()
        assert (type_, balance) == ("wallet.exhausted", left)
        grant("0.05")
        check()
        check()
        assert [type_ for type_, *_ in news()] == ["wallet.topped_up", "wallet.exhausted"]


def test_a_lower_floor_allows_another_exhausted_event(api, wallet, grant, check):
    grant("0.05")
    check()
    news()
    assert api.patch(f"/v1/wallets/{wallet}", {"floor": "-0.05"}).status == 200
    assert news() == []
    assert [check()["allowed"] for _ in range(3)] == [True, False, False]
    assert news() == [("wallet.exhausted", -0.05, 0)]


def test_voided_and_expired_grants_can_send_wallet_low(api, wallet, grant, clock):
    api.patch(f"/v1/wallets/{wallet}", {"thresholds": [{"value": 2}]})
    void = grant(3)["id"]
    grant(4, expiresAt=(clock.now + timedelta(days=1)).isoformat())
    news()
    api.post(f"/v1/wallets/{wallet}/grants/{void}/void")
    assert news() == []
    clock.advance(days=2)
    assert book_regularly() == 1
    assert news() == [("wallet.low", 0, 4), ("wallet.exhausted", 0, 4)]
    assert book_regularly() == 0


@pytest.mark.parametrize(("credit", "told"), [
    pytest.param(99, [("wallet.topped_up", 99, 0)], id="enough"),
    pytest.param(1, [("wallet.topped_up", 1, 0), ("wallet.low", 1, 10)], id="too little"),
])  # fmt: skip
def test_credit_replaced_as_it_ends_is_not_announced_as_exhausted(api, wallet, grant, clock, credit, told):
    api.patch(f"/v1/wallets/{wallet}", {"thresholds": [{"value": 2}]})
    change = (clock.now + timedelta(days=1)).isoformat()
    grant(10, expiresAt=change)
    grant(credit, effectiveAt=change)
    news()
    clock.advance(days=2)
    book_regularly()
    assert news() == told


def test_events_stored_late_show_the_wallet_as_it_was_at_their_time(grant, clock):
    day = timedelta(days=1)
    grant(10, expiresAt=(clock.now + day).isoformat())
    grant(99, effectiveAt=(clock.now + 2 * day).isoformat())
    news()
    clock.advance(days=3)
    book_regularly()
    assert news() == [("wallet.exhausted", 0, 10), ("wallet.topped_up", 99, 0)]


def test_a_refill_sends_one_event(api, account, clock):
    factories.license(account)
    refill = {"refill": {"amount": 10, "every": "day"}, "thresholds": [{"percent": 50}]}
    api.post("/v1/wallets", {"requesterId": "org_acme", "unit": "access", **refill})
    assert news() == [("wallet.topped_up", 10, 0)]
    clock.advance(days=1)
    book_regularly()
    assert news() == [("wallet.topped_up", 10, 10)]


def test_credit_from_a_merge_is_announced_and_can_be_exhausted_again(api, account, grant, check):
    factories.wallet(account, amount="0.05", requester_id=factories.license(account, "org_b").requester.requester_id)
    grant("0.05")
    check()
    assert news()[-1] == ("wallet.exhausted", 0, 0.05)
    api.post("/v1/requesters/org_b/merge", {"into": "org_acme"})
    assert news() == [("wallet.topped_up", 0.05, 0)]
    check()
    assert news() == [("wallet.exhausted", 0, 0.05)]


@pytest.fixture
def quota(api, account, check):
    """Return the quota of org_acme, from which a merge takes the four accesses that org_b used beyond its own."""
    for one in ("org_acme", "org_b"):
        factories.license(account, one)
    factories.wallet(account, unit="access", amount=1, requester_id="org_b", floor=Decimal(-4))
    for _ in range(5):
        check(requester="org_b")
    return api.post("/v1/wallets", {"requesterId": "org_acme", "unit": "access"})["id"]


def test_accesses_that_a_merge_takes_are_announced_as_a_fall(api, quota):
    api.patch(f"/v1/wallets/{quota}", {"thresholds": [{"value": 2}]})
    api.post(f"/v1/wallets/{quota}/grants", {"amount": 4})
    news()
    api.post("/v1/requesters/org_b/merge", {"into": "org_acme"})
    assert news() == [("wallet.low", 0, 4), ("wallet.exhausted", 0, 4)]


def test_accesses_that_do_not_cover_what_a_merge_took_allow_no_other_exhausted_event(api, quota, check):
    api.post("/v1/requesters/org_b/merge", {"into": "org_acme"})
    news()
    for amount, told in ((1, ["wallet.topped_up", "wallet.exhausted"]), (2, ["wallet.topped_up"])):
        api.post(f"/v1/wallets/{quota}/grants", {"amount": amount})
        assert check()["allowed"] is False
        assert [type_ for type_, *_ in news()] == told


def test_a_grant_that_will_end_is_announced_7_days_and_1_day_before(grant, check, clock):
    grant(1, expiresAt=(clock.now + timedelta(days=10)).isoformat())
    check()
    news()
    told = []
    for days in (2, 2, 5, 1):
        clock.advance(days=days)
        deadlines.write_all_due_events()
        deadlines.write_all_due_events()
        told.append(news())
    assert told == [[], [("grant.expiring", 0.95, None)], [("grant.expiring", 0.95, None)], []]


def test_a_grant_that_is_spent_before_its_end_is_not_announced(grant, check, clock):
    grant("0.05", expiresAt=(clock.now + timedelta(days=10)).isoformat())
    grant(1)
    check()
    news()
    clock.advance(days=5)
    deadlines.write_all_due_events()
    assert news() == []


def test_a_dry_run_and_a_retry_announce_nothing(api, item, check, grant):
    grant("0.05")
    news()
    check(dryRun=True)
    assert news() == []
    body = {"contentId": item.pk, "requester": "org_acme"}
    for _ in range(2):
        api.post("/v1/access/check", body, headers={"Idempotency-Key": "k"})
    assert [type_ for type_, *_ in news()] == ["wallet.exhausted"]
