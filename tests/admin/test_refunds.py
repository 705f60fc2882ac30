from decimal import Decimal
from functools import partial
from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse

from analytics.models import AccessEvent, LedgerEntry
from licensing.licenses.models import License
from licensing.licenses.services import revoke_license
from operators.base.links import change_url
from operators.customers import ledger as ledger_admin
from tests import factories, ledger
from tests.admin.forms import form_values, html_of, submit
from tests.admin.markup import words_of
from tests.admin.racing import meeting
from tests.lock_waits import at_once

# The prefix of an adjustment's reason, which names the refunded charge.
ABOUT = {"license": "licence of type commercial, from ", "decision": "Markets, 20", "entry": "Markets, 20"}


@pytest.fixture
def charged(api, account):
    """A priced licence, a decision that it charged, and the charge's ledger entry."""
    item = factories.content(account, title="Markets", policy_id=factories.policy(account).pk)
    held = factories.license(account, price_amount=Decimal(100), price_currency="EUR", per_access="0.05")
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    return {"license": held, "decision": AccessEvent.objects.get(), "entry": LedgerEntry.objects.get(type="usage")}


def refund(client, obj):
    """Press the refund button; return the address of the form."""
    link = reverse(f"admin:{obj._meta.app_label}_{obj._meta.model_name}_refund", args=[obj.pk])
    assert link in client.get(change_url(obj)).content.decode()
    reply = client.get(link)
    assert reply.status_code == 302
    return reply.headers["Location"]


def book(client, obj, **fields):
    """Refund through the button and form; return the ledger entry."""
    address = refund(client, obj)
    values = {**form_values(client.get(address).content.decode()), **fields, "confirmed": "1", "_save": "Save"}
    assert client.post(address, values).status_code == 302
    return LedgerEntry.objects.latest("pk")


def total_of(obj):
    """Return the total that the object was charged."""
    return Decimal(100) if isinstance(obj, License) else Decimal("0.05")


@pytest.mark.parametrize(("what", "amount"), [("license", "100"), ("decision", "0.05"), ("entry", "0.05")])
def test_a_refund_is_prefilled_asked_for_and_booked(admin, charged, what, amount):
    address = refund(admin, charged[what])
    values = form_values(admin.get(address).content.decode())
    assert values["amount"] == [amount]
    asked = admin.post(address, {**values, "_save": "Save"})
    text = asked.content.decode()
    assert f"Refund {amount}" in text
    assert "org_acme owes" in text
    assert "Revenue falls by" in text
    booked = admin.post(address, form_values(asked.content.decode()))
    assert booked.status_code == 302
    entry = LedgerEntry.objects.latest("pk")
    assert (entry.type, entry.amount, entry.license_id) == ("adjustment", -Decimal(amount), charged["license"].pk)
    assert (entry.requester.requester_id, entry.license_type) == ("org_acme", "commercial")
    assert entry.description.startswith(f"Refund: {ABOUT[what]}")


def test_a_refund_after_a_merge_says_what_the_former_customer_still_owes(admin, api, charged):
    api.post("/v1/requesters", {"id": "org_acme_inc"})
    api.post("/v1/requesters/org_acme/merge", {"into": "org_acme_inc"})
    address = refund(admin, charged["license"])
    asked = admin.post(address, {**form_values(admin.get(address).content.decode()), "_save": "Save"})
    text = " ".join(words_of(asked.content.decode()).split())
    assert "org_acme_inc owes 100.00 EUR less" in text
    assert "org_acme still owes 100.00 EUR, which this does not lower." in text


@pytest.mark.parametrize("what", ["license", "decision", "entry"])
def test_an_adjustment_of_another_amount_is_prefilled_with_what_it_is_about(admin, charged, what):
    about = charged[what]
    link = reverse(f"admin:{about._meta.app_label}_{about._meta.model_name}_adjust", args=[about.pk])
    assert link in admin.get(change_url(about)).content.decode()
    address = admin.get(link).headers["Location"]
    values = form_values(admin.get(address).content.decode())
    assert (values["amount"], values["currency"]) == ([""], ["EUR" if what == "license" else "USD"])
    asked = admin.post(address, {**values, "amount": "-0.01", "_save": "Save"})
    assert admin.post(address, form_values(asked.content.decode())).status_code == 302
    entry = LedgerEntry.objects.latest("pk")
    assert (entry.amount, entry.license_id) == (Decimal("-0.01"), charged["license"].pk)
    assert entry.description.startswith(f"Adjustment: {ABOUT[what]}")


def test_a_charge_of_ones_own_is_refunded_from_the_customer_and_undone_from_the_refund(admin, account):
    customer = factories.requester(account)
    sold = ledger.add(account, "3", currency="EUR", requester=customer, description="Set-up")
    page = admin.get(reverse("admin:licensing_requester_refund", args=[customer.pk])).content.decode()
    assert reverse("admin:analytics_ledgerentry_refund", args=[sold.pk]) in page
    given_back = book(admin, sold, amount="2")
    assert (given_back.amount, given_back.fee_id) == (-2, sold.pk)
    link = reverse("admin:analytics_ledgerentry_adjust", args=[given_back.pk])
    assert link in admin.get(change_url(given_back)).content.decode()
    values = form_values(admin.get(admin.get(link).headers["Location"]).content.decode())
    assert (values["of_fee"], values["currency"]) == ([sold.pk], ["EUR"])
    assert ">Set-up</a>" in page
    assert given_back.description.startswith("Refund: Set-up, 20")


def test_after_an_undone_refund_the_charge_is_shown_as_it_was(admin, account, charged):
    held, customer = charged["license"], charged["license"].requester
    price = LedgerEntry.objects.get(type="license")
    book(admin, held, amount="20")
    ledger.add(account, "20", currency="EUR", requester=customer, license=held)
    page = words_of(html_of(admin, reverse("admin:licensing_requester_refund", args=[customer.pk])))
    assert "100.00 EUR 100.00 EUR Refund" in " ".join(page.split())
    assert "100.00 EUR of 100.00 EUR is left to refund." in html_of(admin, change_url(price))
    ledger.add(account, "5", currency="EUR", requester=customer, license=held)
    assert "105.00 EUR of 105.00 EUR is left to refund." in html_of(admin, change_url(price))


def test_the_reason_of_a_refund_has_room_for_the_longest_title(admin, api, account, charged):
    item = factories.content(account, title="x" * 500, policy_id=factories.policy(account).pk)
    made = api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    assert len(book(admin, AccessEvent.objects.get(pk=made["id"])).description) == 500


def test_licences_are_adjusted_without_revenue_and_refunded_when_revoked(admin, account, charged):
    free = factories.license(account)
    address = admin.get(reverse("admin:licensing_license_adjust", args=[free.pk])).headers["Location"]
    values = form_values(admin.get(address).content.decode())
    assert (values["of_license"], values.get("currency", [""])) == ([free.pk], [""])
    revoke_license(charged["license"])
    query = parse_qs(urlsplit(refund(admin, charged["license"])).query)
    assert (query["amount"], query["currency"]) == (["100"], ["EUR"])


@pytest.mark.parametrize("what", ["license", "decision", "entry"])
def test_a_second_refund_is_prefilled_with_what_is_left_and_no_third_is_offered(admin, charged, what):
    first = book(admin, charged[what], amount="0.02")
    values = form_values(admin.get(refund(admin, charged[what])).content.decode())
    assert values["amount"] == [str(total_of(charged[what]) - Decimal("0.02"))]
    page = admin.get(change_url(charged[what])).content.decode()
    if what != "license":
        assert change_url(first) in page
        assert "0.03 USD of 0.05 USD is left to refund" in page
    book(admin, charged[what])
    assert "/refund" not in admin.get(change_url(charged[what])).content.decode()


def test_a_refund_cannot_be_negative_or_more_than_is_left(admin, charged):
    for amount in ("-0.02", "0"):
        address = refund(admin, charged["decision"])
        values = {**form_values(admin.get(address).content.decode()), "amount": amount}
        refused = admin.post(address, {**values, "confirmed": "1", "_save": "Save"})
        page = refused.content.decode()
        assert "Enter what to give back as a positive amount: 50 refunds 50." in page
        assert "Amount to refund" in page
        assert "0.05 USD of 0.05 USD is left to refund." in page
        assert "Negative to give back" not in page
        assert not LedgerEntry.objects.filter(type="adjustment").exists()

    opened = form_values(admin.get(address).content.decode())
    book(admin, charged["entry"], amount="0.02")
    reply = admin.post(address, {**opened, "_save": "Save"})
    [message] = reply.context["adminform"].form.errors["amount"]
    assert "At most 0.03 USD can be refunded" in message
    assert LedgerEntry.objects.filter(type="adjustment").count() == 1


def test_the_form_says_what_is_left_and_the_question_what_will_be(admin, charged):
    book(admin, charged["decision"], amount="0.02")
    address = refund(admin, charged["decision"])
    page = admin.get(address).content.decode()
    assert "0.03 USD of 0.05 USD is left to refund" in page
    asked = admin.post(address, {**form_values(page), "_save": "Save"}).content.decode()
    assert "0.00 USD of 0.05 USD is left to refund" in asked
    assert "0.02 USD of this charge was refunded already on " in asked


@pytest.mark.parametrize("prepaid", [True, False])
def test_the_question_says_whether_a_refund_returns_to_a_wallet_and_stays_there_once_undone(
    admin, api, account, prepaid
):
    held = factories.license(account, per_access="0.05")
    if prepaid:
        factories.wallet(account, requester_id=held.requester.requester_id)
    item = factories.content(account, policy_id=factories.policy(account).pk)
    api.post("/v1/access/check", {"contentId": item.pk, "requester": held.requester.requester_id})
    address = refund(admin, AccessEvent.objects.get())
    asked = admin.post(address, {**form_values(admin.get(address).content.decode()), "_save": "Save"}).content.decode()
    assert ("returns to the wallet that paid" in asked) is prepaid
    refunded = book(admin, AccessEvent.objects.get())
    undo = admin.get(reverse("admin:analytics_ledgerentry_adjust", args=[refunded.pk])).headers["Location"]
    asked = submit(admin, undo, amount="0.05").content.decode()
    assert ("0.05 USD that a refund of this access returned stay as credit in" in asked) is prepaid


@pytest.mark.django_db(transaction=True)
def test_two_operators_who_refund_at_the_same_moment_book_one_refund(staff, sign_in, charged, monkeypatch):
    monkeypatch.setattr(ledger_admin, "adjust", meeting(ledger_admin.adjust))
    forms = []
    for _ in range(2):
        client = sign_in(staff(is_superuser=True))
        address = refund(client, charged["decision"])
        forms.append((client, address, form_values(client.get(address).content.decode())))

    def press(client, address, opened):
        return client.post(address, {**opened, "confirmed": "1", "_save": "Save"}).status_code

    assert sorted(at_once(*(partial(press, *form) for form in forms))) == [200, 302]
    assert LedgerEntry.objects.get(type="adjustment").amount == Decimal("-0.05")


def test_objects_without_revenue_offer_no_refund(admin, account):
    free, back = factories.license(account), ledger.add(account, "-1")
    for obj in (free, back):
        link = reverse(f"admin:{obj._meta.app_label}_{obj._meta.model_name}_refund", args=[obj.pk])
        assert link not in admin.get(change_url(obj)).content.decode()
        assert admin.get(link).status_code in (302, 403, 404)
        assert LedgerEntry.objects.filter(type="adjustment", description__startswith="Refund").count() == 0


def test_refunds_are_offered_for_revenue_to_those_who_may_book_them(sign_in, staff, account, charged):
    client = sign_in(staff("licensing.view_license", "analytics.view_ledgerentry", accounts=[account]))
    assert "/adjust" not in client.get(change_url(charged["license"])).content.decode()
    assert "/refund" not in client.get(change_url(charged["license"])).content.decode()


def test_a_credit_note_is_booked_once_by_its_number_and_speaks_the_accounts_time(admin, account, charged, clock):
    account.time_zone = "Europe/Berlin"
    account.save(update_fields=["time_zone"])
    clock.set("2026-10-31T23:30:00Z")
    entry = charged["entry"]
    entry_values = form_values(admin.get(refund(admin, entry)).content.decode())
    local = entry.occurred_at.astimezone(account.zone)
    assert f"{local:%Y-%m-%d %H:%M %Z}" in entry_values["description"][0]
    half = {**entry_values, "amount": "0.02", "external_id": "CN-7"}
    asked = admin.post(refund(admin, entry), {**half, "_save": "Save"})
    assert "on 2026-11-01." in asked.content.decode()
    booked = book(admin, entry, amount="0.02", external_id="CN-7")
    assert "CN-7" in admin.get(change_url(booked)).content.decode()
    again = admin.post(refund(admin, entry), {**half, "_save": "Save"})
    assert "This number was booked before: " in again.content.decode()
    assert LedgerEntry.objects.filter(external_id="CN-7").count() == 1
