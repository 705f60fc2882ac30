from decimal import Decimal

import pytest
from django.urls import reverse

from analytics.models import LedgerEntry, Statement
from licensing.licenses.models import License
from operators.base.links import change_url, list_url
from tests import factories
from tests.admin.forms import confirmed, html_of, submit

TERMS = {"fee_amount": Decimal(50), "fee_currency": "EUR", "fee_every": "month"}
ADD = reverse("admin:licensing_license_add")
FEE = {"fee_amount": "50", "fee_currency": "EUR", "fee_every": "month"}


def issue(client, account, **fields):
    given = {"account": account.pk, "requester_own_id": "org_acme", "license_type": "commercial", **fields}
    return submit(client, ADD, **given)


def test_a_licence_is_issued_with_a_fee_that_the_customer_s_page_announces(admin, account, clock):
    clock.set("2026-01-10T00:00:00Z")
    asked = issue(admin, account, **FEE)
    assert "The fee of 50.00 EUR every month is charged in advance." in asked.content.decode()
    confirmed(admin, asked)
    held = License.objects.get()
    clock.set("2026-02-20T00:00:00Z")
    customer = html_of(admin, change_url(held.requester))
    for said in (
        "Fees to come",
        "50.00 EUR every month, next on 2026-03-10",
        "Balance",
        "100.00 EUR owed",
        "Last payment",
    ):
        assert said in customer, said
    assert "next on 2026-03-10" in html_of(admin, change_url(held))
    assert LedgerEntry.objects.filter(type="fee").count() == 2


def test_fees_that_are_due_at_once_are_added_up_before_they_are_booked(admin, account, clock):
    clock.set("2026-03-10T00:00:00Z")
    asked = issue(admin, account, **FEE, starts_at_0="2026-01-31", starts_at_1="00:00")
    assert "Together 100.00 EUR." in asked.content.decode()
    fields = {"account": account.pk, "requester_own_id": "org_acme", "license_type": "commercial", **FEE}
    preview = admin.post(reverse("admin:licensing_license_preview"), {**fields, "starts_at_0": "2026-01-31"})
    assert "in advance, from 2026-01-31 00:00 UTC." in preview.content.decode()
    assert "2 fees are due: 100.00 EUR are booked now." in preview.content.decode()
    preview = admin.post(reverse("admin:licensing_license_preview"), {**fields, "fee_amount": "-1"})
    assert "charged" not in preview.content.decode()


@pytest.mark.parametrize(
    ("start", "end", "every", "told"),
    [
        ("2026-01-01", "2026-03-15", "month", "2026-03-01 to 2026-03-14"),
        ("2026-01-01", "2026-01-15", "month", "2026-01-01 to 2026-01-14"),
        ("2026-01-01", "2026-08-01", "quarter", "2026-07-01 to 2026-07-31"),
        ("2026-01-31", "2026-02-28", "month", None),
        ("2026-01-01", "2027-01-01", "quarter", None),
        ("2026-01-01", None, "month", None),
    ],
)
def test_a_licence_that_ends_within_a_period_says_that_its_whole_fee_is_charged(
    admin, account, clock, start, end, every, told
):
    clock.set("2026-01-01T00:00:00Z")
    ends = {"expires_at_0": end, "expires_at_1": "00:00"} if end else {}
    asked = issue(
        admin, account, **{**FEE, "fee_every": every}, starts_at_0=start, starts_at_1="00:00", **ends
    ).content.decode()
    assert ("charged in full" in asked) == (told is not None)
    assert (told or "charged in advance") in asked


def test_the_form_has_the_accounts_currency_and_a_currency_alone_is_no_price(admin, account):
    issue(admin, account)
    held = License.objects.get()
    assert (held.price_currency, held.access_currency, held.fee_currency) == (None, None, None)
    issue(admin, account, price_currency="USD", access_currency="GBP", fee_currency="JPY")
    assert License.objects.filter(price_currency=None, access_currency=None, fee_currency=None).count() == 2
    asked = issue(admin, account, requester_own_id="org_new", fee_amount="50", fee_every="month")
    assert "The fee of 50.00 USD every month" in asked.content.decode()


def test_a_fee_is_issued_whole_changed_and_ended(admin, account, clock):
    reply = issue(admin, account, fee_amount="50", fee_currency="EUR", fee_every="")
    assert "amount, currency and period, or none of them" in str(reply.context["adminform"].form.errors["fee_every"])
    clock.set("2026-01-10T00:00:00Z")
    factories.license(account, **TERMS)
    clock.set("2026-03-20T00:00:00Z")
    assert "150.00 EUR" in html_of(admin, list_url(LedgerEntry, type__exact="fee"))

    clock.set("2026-01-10T00:00:00Z")
    held = factories.license(account, **TERMS)
    page = change_url(held)
    changed = submit(admin, page, fee_amount="60")
    assert "The fee of 60.00 EUR every month" in changed.content.decode()
    assert "(new)" not in changed.content.decode()
    confirmed(admin, changed)
    ended = submit(admin, page, fee_amount="", fee_currency="", fee_every="")
    assert "No further fee is charged." in ended.content.decode()
    confirmed(admin, ended)
    held.refresh_from_db()
    assert (held.fee_amount, held.next_fee_at) == (None, None)


def test_a_fee_is_on_the_statement_and_is_refunded_by_its_entry(admin, account, clock):
    clock.set("2026-01-10T00:00:00Z")
    factories.license(account, **TERMS)
    factories.wallet(account, "EUR", 300, requester_id="org_acme")
    statement = Statement.objects.get(currency="EUR")
    for address in (change_url(statement), reverse("admin:analytics_statement_print_page", args=[statement.pk])):
        html = html_of(admin, address)
        for said in ("Recurring fees", "50.00", "300.00 EUR"):
            assert said in html, (address, said)
    entry = LedgerEntry.objects.get()
    form = admin.get(reverse("admin:analytics_ledgerentry_refund", args=[entry.pk]))
    confirmed(admin, submit(admin, form.url))
    refund = LedgerEntry.objects.get(type="adjustment")
    assert (refund.fee_id, refund.amount) == (entry.pk, -50)


def test_the_customer_s_page_says_when_credit_ends_and_charges_a_fee(admin, account, clock):
    clock.set("2026-01-10T00:00:00Z")
    factories.license(account)
    refill = {"amount": Decimal(10), "every": "month"}
    factories.wallet(account, "EUR", 300, requester_id="org_acme", refill=refill)
    held = License.objects.get()
    assert "on 2026-02-10 00:00" in html_of(admin, change_url(held.requester))
    form = admin.get(reverse("admin:licensing_requester_charge", args=[held.requester_id]))
    asked = submit(admin, form.url, amount="25", description="Set-up fee", occurred_at_0="2026-01-02")
    assert "org_acme owes 25.00 USD more on the statement of 2026-01." in asked.content.decode()
    assert confirmed(admin, asked)["Location"] == change_url(held.requester)
    entry = LedgerEntry.objects.get()
    assert (entry.amount, entry.currency, entry.requester_id) == (25, "USD", held.requester_id)


def test_forms_that_a_customer_s_page_opens_return_to_it(admin, account):
    requester = factories.requester(account, requester_id="org_acme")
    for name, fields in {
        "issue_license": {"license_type": "commercial"},
        "record_payment": {"amount": "5", "currency": "EUR"},
    }.items():
        form = admin.get(reverse(f"admin:licensing_requester_{name}", args=[requester.pk]))
        reply = submit(admin, form.url, **fields)
        reply = reply if reply.status_code == 302 else confirmed(admin, reply)
        assert reply["Location"] == change_url(requester), name
