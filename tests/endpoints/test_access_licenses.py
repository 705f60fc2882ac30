from decimal import Decimal

import pytest
from django.db import connection
from django.db.models import Sum

from analytics.models import ContentRevenue, LedgerEntry, RequesterRevenue, TierRevenue
from analytics.rollups.roll_up import roll_up
from kit.values.timestamps import parse_timestamp
from licensing.licenses.services import revoke_license, update_license
from tests import factories

LIMITED = {**factories.ALLOW_LICENSED, "rateLimit": {"requests": 2, "period": "month"}}


def ledger():
    return list(LedgerEntry.objects.order_by("id"))


def test_a_licence_that_is_issued_changed_or_revoked_decides_the_next_check(check, account):
    assert check()["reason"] == "no_license"
    held = factories.license(account, expires_at=parse_timestamp("2999-01-01"))
    reply = check()
    assert (reply["allowed"], reply["charge"]) == (True, None)
    shown = {"licenseType": "commercial", "expiresAt": "2999-01-01T00:00:00.000000Z", "source": "service"}
    assert reply["license"] == {"id": held.pk, **shown}
    update_license(held, {"license_type": "personal"})
    assert check()["reason"] == "policy_denied"
    revoke_license(held)
    assert check(requester=factories.LICENSED_REQUESTER)["reason"] == "no_license"


def test_a_licence_begins_and_ends_at_its_very_moment_and_before_that_the_callers_word_counts(check, account, clock):
    begin = clock.now.replace(microsecond=750_000)
    end = begin.replace(day=10)
    factories.license(account, starts_at=begin, expires_at=end)
    assert check(requester=factories.LICENSED_REQUESTER)["license"]["source"] == "caller"
    clock.now = begin
    assert check(requester=factories.LICENSED_REQUESTER)["license"]["source"] == "service"
    clock.now = end.replace(microsecond=749_999)
    assert check()["allowed"]
    clock.now = end
    assert check()["reason"] == "license_expired"


def test_a_licence_that_was_revoked_before_it_began_never_began(check, account, clock):
    revoke_license(factories.license(account, starts_at=clock.now.replace(day=10)))
    clock.advance(days=30)
    assert check(requester=factories.LICENSED_REQUESTER)["license"]["source"] == "caller"


def test_a_licence_counts_only_for_its_requester_and_items(check, account, other_account, item):
    factories.license(account, "org_b")
    factories.license(other_account, "org_acme")
    assert check()["reason"] == "no_license"
    for _ in range(20):
        factories.license(account, content_ids=[factories.content(account).pk])
    assert check()["reason"] == "no_license"
    held = factories.license(account, content_ids=[factories.content(account).pk, item.pk])
    assert check()["license"]["id"] == held.pk


def test_a_draft_is_decided_on_licences_of_the_items_own_policy(check, account, item):
    factories.license(account, policy_ids=[item.policy_id])
    draft = {"rules": [factories.ALLOW_LICENSED]}
    assert check(dryRun=True, policy=draft)["license"]["source"] == "service"


def test_an_allowed_check_is_charged_to_its_decision(check, account, item):
    held = factories.license(account, per_access="0.05")
    reply = check(requester={"id": "org_acme", "name": "Acme"})
    assert reply["charge"] == {"amount": 0.05, "currency": "USD"}
    [entry] = ledger()
    assert (entry.type, entry.amount, entry.currency) == ("usage", Decimal("0.05"), "USD")
    assert (entry.decision_id, entry.content_id, entry.license_id) == (reply["id"], item.pk, held.pk)
    assert entry.id.removeprefix("led") == reply["id"].removeprefix("dec")
    assert (entry.requester_id, entry.license_type) == (held.requester_id, "commercial")


def test_a_licence_without_a_price_charges_nothing(check, account):
    for price in [{}, {"per_access": "0"}]:
        factories.license(account, **price)
        assert (check()["charge"], ledger()) == (None, [])


def test_the_price_is_sent_with_exactly_its_digits(check, account):
    factories.license(account, per_access="999999999999.999999")
    assert b'"amount":999999999999.999999,' in check().content


def test_the_licence_that_counts_is_charged(check, account):
    factories.license(account, license_type="personal", per_access="0.05")
    reply = check()
    assert (reply["reason"], reply["charge"], ledger()) == ("policy_denied", None, [])
    held = factories.license(account, license_type="enterprise", per_access="0.10")
    assert check()["charge"] == {"amount": 0.1, "currency": "USD"}
    assert [entry.license_id for entry in ledger()] == [held.pk]


def test_beyond_the_rules_limit_nothing_is_charged(check, account):
    item = factories.content(account, policy_id=factories.policy(account, LIMITED).pk)
    factories.license(account, per_access="0.05")
    replies = [check(contentId=item.pk) for _ in range(4)]
    assert [reply["reason"] for reply in replies] == [None, None, *["rate_limit_exceeded"] * 2]
    assert [bool(reply["charge"]) for reply in replies] == [True, True, False, False]
    assert [entry.decision_id for entry in ledger()] == [reply["id"] for reply in replies[:2]]


def test_a_batch_is_charged_check_by_check(api, account, item):
    factories.license(account, per_access="0.05")
    checks = [{"contentId": item.pk}, {"contentId": factories.content(account).pk}, {"contentId": item.pk}]
    reply = api.post("/v1/access/check/batch", {"requester": "org_acme", "checks": checks})
    assert [one["charge"] and one["charge"]["amount"] for one in reply["data"]] == [0.05, None, 0.05]
    assert {entry.decision_id for entry in ledger()} == {one["id"] for one in reply["data"] if one["allowed"]}


def test_a_dry_run_shows_its_charge_and_charges_nothing(check, account):
    factories.license(account, per_access="0.05")
    assert check(dryRun=True)["charge"] == {"amount": 0.05, "currency": "USD"}
    assert ledger() == []
    open_item = factories.content(account, policy_id=factories.policy(account, factories.ALLOW_ALL).pk)
    assert check(contentId=open_item.pk)["charge"] == {"amount": 0.05, "currency": "USD"}
    assert check(contentId=open_item.pk, requester="org_b")["charge"] is None


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "once"}])
def test_a_charge_past_what_sqlite_can_add_up_is_refused_and_leaves_nothing(api, account, item, headers):
    factories.license(account, per_access="1000000000000")
    ten = {"requester": "org_acme", "checks": [{"contentId": item.pk}] * 10}

    reply = api.post("/v1/access/check/batch", ten, headers=headers)

    if connection.vendor == "sqlite":
        assert reply.status_and_code == (422, "invalid_request")
        assert "totals of the day" in reply.error["message"]
        assert ledger() == []
        assert api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"}, headers=headers)["charge"]
    else:
        assert (reply.status, len(ledger())) == (200, 10)


def test_charges_add_up_in_the_rollups_of_their_day(check, account, item, clock):
    held = factories.license(account, per_access="0.05")
    for _ in range(3):
        check()
    clock.advance(days=1)
    check()
    roll_up()
    today = clock.now.date()
    for rollup in (
        TierRevenue.objects.filter(license_type="commercial"),
        RequesterRevenue.objects.filter(requester_id=held.requester_id),
        ContentRevenue.objects.filter(content_id=item.pk),
    ):
        days = rollup.filter(account=account, currency="USD").values_list("day").annotate(Sum("amount"))
        assert sorted(days) == [(today.replace(day=4), Decimal("0.15")), (today, Decimal("0.05"))]


@pytest.mark.parametrize(
    "licenses",
    [
        [{"per_access": "0.05", "expires_at": parse_timestamp("2999-01-01")}],
        [{"license_type": "personal"}, {"per_access": "0.000001"}],
        [{"starts_at": parse_timestamp("2020-01-01"), "expires_at": parse_timestamp("2021-01-01")}],
        [{"revoked": True}],
    ],
)
def test_a_decision_is_read_as_it_was_answered_when_its_licences_are_long_gone(check, api, account, licenses):
    issued = []
    for terms in licenses:
        held = factories.license(account, **{name: terms[name] for name in terms if name != "revoked"})
        if "revoked" in terms:
            revoke_license(held)
        else:
            issued.append(held)
    made = check(requester={**factories.LICENSED_REQUESTER, "licenseType": "enterprise"}, explain=True)
    for held in issued:
        update_license(held, {"license_type": "changed", "access_amount": Decimal(9), "access_currency": "EUR"})
        revoke_license(held)
    kept = api.get(f"/v1/access/decisions/{made['id']}")
    charge = kept["charge"]
    if charge is not None:  # refunds are current, not as of the decision
        assert (charge.pop("refunded"), charge.pop("refundable")) == (0, made["charge"]["amount"])
    assert kept.body == made.body
