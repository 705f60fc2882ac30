import csv
import io

import pytest
from django.contrib import admin as django_admin
from django.urls import reverse

from analytics.models import AccessEvent, LedgerEntry, Payment, Statement
from kit.values.currencies import CURRENCIES
from licensing.content.models import Content
from licensing.requesters.models import Requester
from operators.base.exporting import ListExport
from operators.base.links import list_url
from tests import factories, ledger
from tests.client import ApiClient

ROWS = 7
EXPORTED = [model for model, page in django_admin.site._registry.items() if isinstance(page, ListExport)]


def make_content(account):
    for _ in range(ROWS):
        factories.content(account)


def make_decisions(account):
    api, item = ApiClient(factories.key_text(account)), factories.content(account)
    for number in range(ROWS):
        check = {"contentId": item.pk, "requester": f"org_{number}"}
        assert api.post("/v1/access/check", check).status == 200


def make_entries(account):
    for number in range(ROWS):
        ledger.add(account, "1", currency=CURRENCIES[number], description="A sale")


def make_payments(account):
    for _ in range(ROWS):
        factories.payment(account)


def make_requesters(account):
    for number in range(ROWS):
        factories.requester(account, requester_id=f"org_{number}")


MAKE = {
    Requester: make_requesters,
    Content: make_content,
    AccessEvent: make_decisions,
    LedgerEntry: make_entries,
    Statement: make_entries,
    Payment: make_payments,
}


@pytest.fixture(autouse=True)
def _chunks_of_three(monkeypatch):
    for module in ("operators.base.exporting", "analytics.statements.exporting"):
        monkeypatch.setattr(f"{module}.CHUNK", 3)


def rows(client, address):
    reply = client.get(address)
    assert reply.headers["Content-Type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(reply.getvalue().decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize("model", EXPORTED, ids=lambda model: model.__name__)
def test_a_list_is_exported_to_its_end(admin, account, model):
    MAKE[model](account)
    listed = [getattr(row, "public_id", row.pk) for row in admin.get(list_url(model)).context["cl"].result_list]
    address = reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_export_items")
    assert [row["id"] for row in rows(admin, address)] == listed
    assert len(listed) == ROWS


def test_the_lines_of_a_statement_are_exported_to_their_end(admin, account):
    entries = [ledger.add(account, str(number + 1), description="A sale") for number in range(ROWS)]
    address = reverse("admin:analytics_statement_export_lines", args=[Statement.objects.get().pk])
    first, *lines = rows(admin, address)
    assert (first["type"], first["amount"]) == ("opening", "0")
    assert [row["id"] for row in lines] == [entry.pk for entry in entries]
    assert lines[-1]["balance"] == str(sum(range(1, ROWS + 1)))
