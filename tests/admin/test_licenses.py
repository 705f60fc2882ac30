import csv
from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest
from django.urls import reverse
from django.utils import timezone

from analytics.models import AccessEvent, LedgerEntry
from licensing.licenses.models import License
from licensing.requesters.models import Requester
from operators.base.links import change_url, list_url
from operators.staff.services import create_operator
from tests import factories
from tests.admin.forms import confirmed, form_values, open_form, submit
from tests.admin.headline import listed

ADD = reverse("admin:licensing_license_add")


@pytest.fixture
def check(account, api):
    """Return whether org_acme may access an item that requires a commercial licence."""
    item = factories.content(account, policy_id=factories.policy(account).pk)
    return lambda: api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"}).body


def test_a_licence_issued_turns_a_check_from_denied_to_allowed(admin, account, check):
    assert check()["reason"] == "no_license"
    fields = {"requester_own_id": "org_acme", "requester_name": "Acme", "license_type": "commercial"}
    reply = submit(admin, ADD, account=account.pk, **fields)
    assert reply.status_code == 302, reply.context["errors"]
    assert check()["allowed"] is True


def test_a_licence_is_issued_with_its_price_exactly(admin, account, api):
    fields = {
        "requester_own_id": "org_acme",
        "license_type": "commercial",
        "tags": "news\nsport",
        "starts_at_0": "2026-01-31",
        "starts_at_1": "12:30:00",
        "price_amount": "1234.10",
        "price_currency": "EUR",
        "access_amount": "0.000001",
        "access_currency": "JPY",
    }
    reply = confirmed(admin, submit(admin, ADD, account=account.pk, **fields))
    assert reply.status_code == 302, reply.context["errors"]
    [shown] = api.get("/v1/licenses").body["data"]
    assert shown["tags"] == ["news", "sport"]
    assert shown["startsAt"] == "2026-01-31T12:30:00.000000Z"
    assert shown["price"] == {"amount": 1234.1, "currency": "EUR"}
    entry = LedgerEntry.objects.get()
    assert (entry.amount, entry.currency) == (Decimal("1234.10"), "EUR")
    assert License.objects.get().access_amount == Decimal("0.000001")


NOW = {"starts_at_0": "2026-01-01", "starts_at_1": "00:00"}


def test_invalid_values_are_reported_before_the_confirmation(admin, account):
    send = partial(open_form(admin, ADD), account=account.pk, requester_own_id="org_acme", license_type="commercial")
    for fields, field, message in (
        ({"content_ids": "cnt_nonsense"}, "content_ids", "There is no content item"),
        ({"policy_ids": "pol_x"}, "policy_ids", "There is no policy"),
        ({"price_amount": "1.1234567", "price_currency": "EUR"}, "price_amount", "6 decimal places"),
        ({"price_amount": "1", "price_currency": ""}, "price_currency", "Enter both an amount and a currency"),
        ({"price_amount": "-1", "price_currency": "EUR"}, "price_amount", "at least 0"),
        ({**NOW, "expires_at_0": "2020-01-01", "expires_at_1": "00:00"}, "expires_at", "Must be later than the start"),
        ({"requester_own_id": " "}, "requester_own_id", "required"),
        ({"tags": "a\0b"}, "tags", "must not contain the character U+0000"),
    ):
        reply = send(**fields)
        assert reply.status_code == 200
        assert message in str(reply.context["adminform"].form.errors[field])
        assert not License.objects.exists()

    for written, message in (
        ("1,200", "Write 1200 or 1.20: 1,200 could be either."),
        ("1.000", "Write 1000 or 1.00: 1.000 could be either."),
        ("-12.345", "Write -12345 or -12.3450"),
        ("twelve", "Enter a number"),
        ("1,2,3", "Enter a number"),
        ("1e3", "Enter a number"),
    ):
        reply = send(price_amount=written, price_currency="EUR")
        errors = reply.context["adminform"].form.errors
        assert list(errors) == ["price_amount"]
        assert message in str(errors["price_amount"])
    for written in ("12/31/2026", "03/04/2026", "31.2.2026", "tomorrow"):
        reply = send(expires_at_0=written)
        assert "Write it as 2026-12-31 or 31.12.2026." in str(reply.context["adminform"].form.errors["expires_at"])
    reply = send(license_type="commercial, enterprise")
    assert "one type" in str(reply.context["adminform"].form.errors["license_type"])


def test_a_change_keeps_fields_outside_of_the_form(admin, account):
    held = factories.license(account, per_access="0.05", tags=["a"])
    reply = submit(admin, change_url(held), license_type="editorial")
    assert reply.status_code == 302, reply.context["errors"]
    changed = License.objects.get()
    assert (changed.license_type, changed.tags, changed.access_amount) == ("editorial", ["a"], Decimal("0.05"))
    assert changed.starts_at == held.starts_at


def test_a_price_is_changed_and_taken_away(admin, account):
    held = factories.license(account, price_amount=Decimal(10), price_currency="EUR")
    assert confirmed(admin, submit(admin, change_url(held), price_amount="12")).status_code == 302
    assert sum(entry.amount for entry in LedgerEntry.objects.all()) == 12
    assert confirmed(admin, submit(admin, change_url(held), price_amount="", price_currency="")).status_code == 302
    assert sum(entry.amount for entry in LedgerEntry.objects.all()) == 0


def test_a_stored_price_of_three_decimals_is_shown_so_that_it_can_be_saved(admin, account):
    held = factories.license(account, price_amount=Decimal("1.125"), price_currency="EUR", per_access="0.125")
    values = form_values(admin.get(change_url(held)).content.decode())
    assert (values["price_amount"], values["access_amount"]) == (["1.1250"], ["0.125"])
    assert confirmed(admin, submit(admin, change_url(held), license_type="editorial")).status_code == 302
    assert License.objects.get().price_amount == Decimal("1.125")


SOLD = {"requester_own_id": "org_acme", "license_type": "commercial", "price_amount": "100", "price_currency": "USD"}


def test_a_confirmation_states_the_revenue_and_going_back_keeps_the_values(admin, account):
    values = form_values(submit(admin, ADD, account=account.pk, **SOLD).content.decode())
    again = form_values(admin.post(ADD, {**values, "_edit": "back"}).content.decode())
    assert (again["price_amount"], again["requester_own_id"]) == (["100"], ["org_acme"])
    assert not License.objects.exists()

    factories.content(account, tags=["news"])
    factories.content(account, tags=["sport"])
    reply = submit(admin, ADD, account=account.pk, tags="news", **SOLD)
    html = reply.content.decode()
    assert "100.00 USD is booked now" in html
    assert "It applies from the next check on." in html
    later = submit(admin, ADD, account=account.pk, tags="news", **SOLD, starts_at_0="2099-01-28").content.decode()
    assert "It applies from 2099-01-28 " in later
    assert "1 item" in html
    assert "org_acme (new)" in html
    assert not LedgerEntry.objects.exists()
    assert not Requester.objects.exists()
    assert confirmed(admin, reply).status_code == 302
    assert LedgerEntry.objects.get().amount == 100


def test_a_licence_type_that_no_policy_asks_for_is_warned_of_with_what_was_meant(admin, account, check):
    reply = submit(admin, ADD, account=account.pk, requester_own_id="org_acme", license_type="comercial")
    html = reply.content.decode()
    assert "No rule uses the licence type comercial" in html
    assert "Did you mean commercial?" in html
    assert not License.objects.exists()
    assert confirmed(admin, reply).status_code == 302  # allowed after confirmation


@pytest.mark.parametrize("nobody", ["anonymous", "unverified:gptbot"])
def test_a_licence_for_visitors_who_prove_nothing_is_warned_of(admin, account, check, nobody):
    reply = submit(admin, ADD, account=account.pk, requester_own_id=nobody, license_type="commercial")
    assert f"is {nobody}: this licence opens what it covers to all of them." in reply.content.decode()
    assert not License.objects.exists()


def test_a_licence_that_an_earlier_one_leaves_unused_is_warned_of(admin, account, check):
    ends = timezone.now() + timedelta(days=30)
    given = {"account": account.pk, "requester_own_id": "org_acme", "access_amount": "2", "access_currency": "USD"}
    earlier = factories.license(
        account, per_access="0.07", expires_at=ends, content_ids=[factories.content(account).pk]
    )
    warning = f"The licence {earlier} ("
    for license_type, more, expected in (
        ("commercial", {}, f"{warning}|spend no quota of this one."),
        ("research", {}, f"{warning}|spend no quota of this one, unless the rule asks for research."),
        ("commercial", {"starts_at_0": f"{ends:%Y-%m-%d}", "starts_at_1": f"{ends + timedelta(hours=1):%H:%M}"}, None),
        ("commercial", {"content_ids": factories.content(account).pk}, None),
    ):
        asked = submit(admin, ADD, **given, license_type=license_type, **more).content.decode()
        assert "Issue this licence?" in asked
        assert (warning in asked) == (expected is not None)
        assert expected is None or all(part in asked for part in expected.split("|"))


def test_the_confirmation_of_another_type_shows_its_revenue(admin, account, check):
    held = factories.license(account, license_type="comercial", price_amount=Decimal(100), price_currency="USD")
    reply = submit(admin, change_url(held), license_type="commercial")
    html = reply.content.decode()
    assert "-100.00 USD is booked" in html
    assert "No rule uses" not in html
    assert confirmed(admin, reply).status_code == 302
    assert sorted(entry.amount for entry in LedgerEntry.objects.all()) == [-100, 100, 100]


def test_a_changed_price_says_on_which_statement_it_counts_and_which_revenue_changes(admin, account, clock):
    january = clock.now - timedelta(days=50)
    held = factories.license(account, price_amount=Decimal(100), price_currency="USD", starts_at=january)
    html = submit(admin, change_url(held), price_amount="28").content.decode()
    assert f"{held.requester} owes 72.00 USD less on the statement of 2026-03." in html
    assert "Revenue of 2026-01 changes: it counts at the times above." in html
    html = submit(admin, change_url(held), license_type="editorial").content.decode()
    assert "-100.00 USD is booked" in html
    assert "on the statement of" not in html  # nothing is owed for it
    now = submit(admin, ADD, account=account.pk, **SOLD).content.decode()
    assert "owes 100.00 USD more on the statement of 2026-03." in now
    assert "Revenue of" not in now


def test_licence_types_are_suggested_and_checked_against_policies(admin, account, check, other_account, sign_in):
    factories.license(account, license_type="editorial")
    html = admin.get(ADD).content.decode()
    for known in ("commercial", "enterprise", "editorial"):
        assert f'<option value="{known}">' in html
    factories.license(other_account, license_type="secret-tier")
    user, _ = create_operator("eve", role="Editor", accounts=[account])
    assert "secret-tier" not in sign_in(user).get(ADD).content.decode()


def test_revoking_names_what_stops_ends_access_in_the_next_check_and_is_offered_once(admin, account, check):
    held = factories.license(account)
    address = reverse("admin:licensing_license_revoke", args=[held.pk])
    assert "/revoke" in admin.get(change_url(held)).content.decode()
    assert "org_acme no longer has it" in admin.get(address).content.decode()
    assert check()["allowed"] is True
    assert admin.post(address).status_code == 302
    assert check()["allowed"] is False
    assert admin.post(change_url(held), {"license_type": "again"}).status_code == 403
    assert "/revoke" not in admin.get(change_url(held)).content.decode()


def test_licences_are_filtered_by_their_derived_state(admin, account):
    factories.license(account, license_type="active")
    ago = timezone.now() - timedelta(days=9)
    factories.license(account, license_type="expired", starts_at=ago, expires_at=ago + timedelta(days=1))
    revoked = factories.license(account, license_type="revoked")
    admin.post(reverse("admin:licensing_license_revoke", args=[revoked.pk]))
    for state in ("active", "expired", "revoked"):
        assert [held.license_type for held in listed(admin, list_url(License, state=state))] == [state], state


def test_licences_and_requesters_are_found_by_the_requesters_id_or_name(admin, account):
    held = factories.license(account, requester_name="Acme Labs")
    factories.license(account, "org_zebra")
    for term in ("org_ac", "Acme", "lab", "acme LAB"):
        assert listed(admin, list_url(License, q=term)) == [held], term
        assert [one.requester_id for one in listed(admin, list_url(Requester, q=term))] == ["org_acme"], term


def test_decisions_are_found_and_exported_and_a_requesters_page_has_them(admin, account, check):
    decision = check()
    found = list_url(AccessEvent, q="org_ac")
    assert [event.pk for event in admin.get(found).context["cl"].result_list] == [decision["id"]]
    [link] = [one["path"] for one in admin.get(found).context_data["actions_list"] if "/export/" in one["path"]]
    [row] = csv.DictReader(b"".join(admin.get(link).streaming_content).decode("utf-8-sig").splitlines())
    assert (row["id"], row["requesterId"], row["reason"]) == (decision["id"], "org_acme", "no_license")
    assert not admin.get(list_url(AccessEvent, q="org_zebra")).context["cl"].result_list

    held, decision = factories.license(account), check()
    page = admin.get(change_url(held.requester)).content.decode()
    assert change_url(held) in page
    assert f"/{decision['id']}/change/" in page


def test_an_amount_may_have_a_decimal_comma(admin, account):
    fields = {"requester_own_id": "org_acme", "license_type": "commercial"}
    for written, amount in (
        ("0,05", "0.05"),
        ("12,5", "12.5"),
        ("1.234,50", "1234.50"),
        ("1.234.567", "1234567"),
        ("1 234,50", "1234.50"),
        ("1,234.50", "1234.50"),
        ("0,125", "0.125"),
    ):
        reply = submit(admin, ADD, account=account.pk, access_amount=written, access_currency="EUR", **fields)
        assert confirmed(admin, reply).status_code == 302, written
        assert License.objects.latest("pk").access_amount == Decimal(amount), written


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("1.23,45", "Enter a number."),
        ("12.34,5", "Enter a number."),
        ("1234.567,5", "Enter a number."),
        ("10 €", "Enter a number, without the currency."),
        ("EUR 49.90", "Enter a number, without the currency."),
    ],
)
def test_an_amount_with_a_wrong_group_or_a_currency_is_refused(admin, account, written, told):
    fields = {"requester_own_id": "org_acme", "license_type": "commercial", "access_currency": "EUR"}
    reply = submit(admin, ADD, account=account.pk, access_amount=written, **fields)
    assert reply.context["adminform"].form.errors["access_amount"] == [told]


def test_a_date_is_written_in_either_order_that_is_clear_and_without_a_time_an_end_includes_that_day(admin, account):
    fields = {"requester_own_id": "org_acme", "license_type": "commercial", "starts_at_0": "2026-01-31"}
    for written in ("2026-12-31", "31.12.2026"):
        reply = submit(admin, ADD, account=account.pk, expires_at_0=written, starts_at_1="", expires_at_1="", **fields)
        assert reply.status_code == 302, reply.context["errors"]
        held = License.objects.latest("pk")
        assert held.starts_at.isoformat() == "2026-01-31T00:00:00+00:00"
        assert held.expires_at.isoformat() == "2027-01-01T00:00:00+00:00", written


def test_a_customers_name_is_not_taken_for_an_id(admin, account, api):
    factories.license(account, "org_acme", requester_name="Acme Ltd.")
    fields = {"requester_own_id": "acme ltd.", "license_type": "commercial"}
    reply = submit(admin, ADD, account=account.pk, **fields)
    assert "org_acme" in str(reply.context["adminform"].form.errors["requester_own_id"])
    assert Requester.objects.count() == 1

    factories.license(account, "org_acme", requester_name="Acme Ltd.")
    item = factories.content(account)
    assert api.post("/v1/access/check", {"contentId": item.pk, "requester": "Acme Ltd."}).status == 200
    reply = submit(admin, ADD, account=account.pk, requester_own_id="Acme Ltd.", license_type="commercial")
    assert "org_acme" in str(reply.context["adminform"].form.errors["requester_own_id"])


def test_a_new_customer_may_have_the_name_of_another_as_its_id(admin, account, other_account):
    factories.license(other_account, "org_acme", requester_name="Acme")
    fields = {"requester_own_id": "Acme", "license_type": "commercial"}
    assert submit(admin, ADD, account=account.pk, **fields).status_code == 302
    factories.license(account, "org_acme", requester_name="Acme")
    fields = {"requester_own_id": "Acme", "requester_name": "Acme of Berlin", "license_type": "commercial"}
    assert submit(admin, ADD, account=account.pk, **fields).status_code == 302
    assert Requester.objects.filter(requester_id="Acme").exists()
