from decimal import Decimal

import pytest
from django.urls import reverse

from accounts.models import Account
from analytics.models import LedgerEntry, Payment
from analytics.payments.services import record_payment
from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.policies.models import Policy
from operators.base import tickets
from operators.base.links import change_url
from tests import factories
from tests.admin.forms import form_values, submit

FORMS = {
    Account: {"name": "The Tide"},
    Content: {"title": "Markets", "external_id": "m-1"},
    Policy: {"name": "Open", "confirmed": "1"},
    License: {
        "requester_own_id": "org_a",
        "license_type": "commercial",
        "price_amount": "5",
        "price_currency": "EUR",
        "confirmed": "1",
    },
    LedgerEntry: {"amount": "-3", "currency": "EUR", "description": "Given back", "confirmed": "1"},
}


@pytest.fixture
def form(admin, account):
    """Return a model's form address and its filled-in fields."""

    def opened(model):
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")
        fields = form_values(admin.get(address).content.decode())
        return address, {**fields, **({} if model is Account else {"account": account.pk}), **FORMS[model]}

    return opened


@pytest.mark.parametrize("model", FORMS, ids=lambda model: model.__name__)
def test_a_form_sent_twice_makes_one_and_leads_to_it_also_at_the_same_moment(admin, form, model, monkeypatch):
    before = model.objects.count()
    address, fields = form(model)
    first, again = admin.post(address, fields), admin.post(address, fields)
    newest = change_url(model.objects.order_by("-pk")[0])
    assert (first.status_code, again.headers["Location"]) == (302, newest)
    assert "sent twice" in admin.get(newest).content.decode()
    look_before_the_other_has_written(monkeypatch)
    assert admin.post(address, fields).headers["Location"] == newest
    assert model.objects.count() == before + 1


def look_before_the_other_has_written(monkeypatch):
    """Let the next request find its form unused, as the second of two at the same moment does."""
    answers = iter([False])
    is_used = tickets.is_used
    monkeypatch.setattr(tickets, "is_used", lambda *about: next(answers, is_used(*about)))


def test_a_payment_without_a_number_that_is_sent_twice_at_the_same_moment_is_recorded_once(
    admin, account, monkeypatch
):
    factories.license(account, requester_id="org_a")
    sent = {"requester_id": "org_a", "amount": Decimal(5), "currency": "EUR"}
    record_payment(account.pk, sent)
    address = reverse("admin:analytics_payment_add")
    fields = form_values(admin.get(address).content.decode())
    fields |= {"account": account.pk, "requester_own_id": "org_a", "amount": "5", "currency": "EUR", "confirmed": "1"}
    admin.post(address, fields)
    look_before_the_other_has_written(monkeypatch)
    assert (admin.post(address, fields).status_code, Payment.objects.count()) == (302, 2)


def test_a_form_that_edits_makes_no_copy(admin, account):
    item = factories.content(account)
    assert submit(admin, change_url(item), account=account.pk, _saveasnew="1").status_code == 400
    assert Content.objects.count() == 1


@pytest.mark.parametrize("ticket", ["", "made-up", "key"])
def test_a_form_without_a_ticket_of_its_own_makes_nothing_and_keeps_what_was_entered(admin, form, ticket):
    address, fields = form(Content)
    _, of_account = form(Account)
    reply = admin.post(address, {**fields, "ticket": of_account["ticket"] if ticket == "key" else ticket})
    assert "This form has expired" in reply.content.decode()
    assert not Content.objects.exists()
    assert admin.post(address, form_values(reply.content.decode())).status_code == 302
    assert Content.objects.get().title == "Markets"
