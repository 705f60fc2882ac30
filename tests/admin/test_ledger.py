import csv
import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from analytics.models import LedgerEntry
from operators.base.links import change_url, list_url
from tests import factories, ledger
from tests.admin.forms import confirmed, open_form, submit

ADJUST = reverse("admin:analytics_ledgerentry_add")


def test_an_entry_is_booked_on_its_day_after_a_page_that_says_that_it_stays(admin, account):
    fields = {"amount": "-5", "currency": "EUR", "description": "Goodwill", "occurred_at_0": "20.02.2026"}
    reply = submit(admin, ADJUST, account=account.pk, **fields)
    assert "Entries cannot be changed" in reply.content.decode()
    assert not LedgerEntry.objects.exists()
    assert confirmed(admin, reply).status_code == 302
    entry = LedgerEntry.objects.get()
    assert (entry.amount, entry.occurred_at.isoformat()) == (-5, "2026-02-20T00:00:00+00:00")


def test_an_adjustment_is_added_with_a_reason_and_linked(admin, account):
    held = factories.license(account)
    fields = {"amount": "0.10", "currency": "EUR", "description": "Sold at the fair", "of_license": held.pk}
    reply = confirmed(admin, submit(admin, ADJUST, account=account.pk, **fields))
    assert reply.status_code == 302, reply.context["errors"]
    entry = LedgerEntry.objects.get()
    assert (entry.type, entry.amount, entry.license_id) == ("adjustment", Decimal("0.10"), held.pk)
    assert entry.requester.requester_id == "org_acme"
    page = admin.get(change_url(entry)).content.decode()
    assert "Sold at the fair" in page
    assert change_url(held) in page


def test_an_adjustment_that_makes_no_sense_is_refused_at_the_field(admin, account):
    send = open_form(admin, ADJUST)
    given = {"account": account.pk, "amount": "1", "currency": "EUR", "description": "For a test"}
    for fields, field in (
        ({"amount": "0"}, "amount"),
        ({"description": ""}, "description"),
        ({"of_license": "lic_none"}, "of_license"),
        ({"of_requester": "nobody"}, "of_requester"),
        ({"occurred_at_0": "2999-01-01", "occurred_at_1": "00:00"}, "occurred_at"),
    ):
        reply = send(**{**given, **fields})
        assert reply.status_code == 200, field
        assert reply.context["adminform"].form.errors[field], field
        assert not LedgerEntry.objects.exists(), field


@pytest.fixture
def entries(account):
    for requester, amount, currency in (("org_a", 10, "EUR"), ("org_b", 5, "EUR"), ("org_b", 7, "USD")):
        factories.license(account, requester, price_amount=Decimal(amount), price_currency=currency)


def test_the_ledger_totals_and_exports_its_filtered_entries(admin, entries):
    for query, total in (
        ({}, "15.00 EUR, 7.00 USD"),
        ({"currency": "EUR"}, "15.00 EUR"),
        ({"currency": "eur"}, "15.00 EUR"),
        ({"q": "org_b"}, "5.00 EUR, 7.00 USD"),
        ({"q": "x"}, "nothing"),
    ):
        html = admin.get(list_url(LedgerEntry, **query)).content.decode()
        told = strip_tags(re.search(r'id="list-total"[^>]*>(.*?)</p>', html, re.S)[1])
        assert f"Total of these entries: {total}." in " ".join(told.split())
    page = admin.get(list_url(LedgerEntry, currency="EUR"))
    [link] = [one["path"] for one in page.context_data["actions_list"] if "/export/" in one["path"]]
    lines = b"".join(admin.get(link).streaming_content).decode("utf-8-sig").splitlines()
    rows = list(csv.DictReader(lines))
    assert sorted((row["requesterId"], row["amount"], row["currency"]) for row in rows) == [
        ("org_a", "10", "EUR"),
        ("org_b", "5", "EUR"),
    ]


def test_the_ledger_is_listed_as_it_was_booked_the_newest_first(admin, account, api):
    """All entry types are sorted by recording time, whichever day they count on."""
    item = factories.content(account, policy_id=factories.policy(account).pk)
    later = timezone.now() + timedelta(days=9)
    ledger.add(account, occurred_at=timezone.now() - timedelta(days=40))
    factories.license(account, per_access="0.05", price_amount=Decimal(5), price_currency="EUR", starts_at=later)
    factories.license(account, per_access="0.05")
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    ledger.add(account, occurred_at=timezone.now() - timedelta(days=400))
    rows = admin.get(list_url(LedgerEntry)).context["cl"]
    assert rows.list_display.index("booked_at") <= 1
    booked = [entry.created for entry in rows.result_list]
    assert len(booked) == 4
    assert booked == sorted(booked, reverse=True)


def test_an_entry_of_the_ledger_is_never_edited_or_deleted(admin, account):
    factories.license(account, price_amount=Decimal(10), price_currency="EUR")
    entry = LedgerEntry.objects.get()
    assert admin.post(change_url(entry), {"amount": "1"}).status_code == 403
    assert admin.post(change_url(entry).replace("change", "delete")).status_code == 403
