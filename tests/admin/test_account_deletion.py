import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.models import Account, ApiKey, AuditEntry
from analytics.archive.models import ArchivedMonth, ArchiveHorizon
from licensing.account_deletion import models_in_deletion_order
from operators.access import accounts
from operators.base.links import change_url
from operators.staff.services import create_operator
from tests import factories, ledger
from tests.admin.forms import submit
from tests.client import ApiClient


def page_of(account):
    return reverse("admin:accounts_account_delete_account", args=[account.pk])


@pytest.fixture
def used(account, other_account):
    """The key of an account with one of every resource but ledger entries; a second account has the same."""
    keys = []
    for one in (account, other_account):
        item = factories.content(one, policy_id=factories.policy(one).pk)
        factories.site(one)
        factories.license(one)
        factories.endpoint(one)
        key = factories.key_text(one)
        check = {"contentId": item.pk, "requester": "org_acme"}
        assert ApiClient(key).post("/v1/access/check", check).status == 200
        keys.append(key)
    return keys[0]


def test_the_page_lists_the_deleted_objects_asks_for_the_name_and_is_the_superusers(admin, account, used, sign_in):
    assert "Its entries in the audit log remain." in admin.get(page_of(account)).content.decode()
    assert page_of(account) in admin.get(change_url(account)).content.decode()
    reply = submit(admin, page_of(account), name="Another")
    assert f"This is not the name. Type {account.name}." in reply.content.decode()
    assert Account.objects.filter(pk=account.pk).exists()

    client = sign_in(create_operator("ed", role="Editor", accounts=[account])[0])
    assert client.get(page_of(account)).status_code == 403
    assert page_of(account) not in client.get(change_url(account)).content.decode()


def test_archived_decisions_are_counted(account, other_account, used):
    ArchiveHorizon.objects.create(pk=1, begin=datetime(2026, 3, 1, tzinfo=UTC))
    for owner, month, rows in ((account, 1, 40), (account, 2, 50), (account, 3, 7), (other_account, 1, 900)):
        ArchivedMonth.objects.create(account=owner, month=date(2026, month, 1), is_current=True, rows=rows)
    assert ("Decisions", "91") in accounts.count_rows(account)


def test_an_account_is_deleted_with_all_that_is_its_own_and_its_keys_are_refused_at_once(
    admin, account, other_account, used
):
    assert submit(admin, page_of(account), name=account.name).status_code == 302
    for model, way in models_in_deletion_order():
        assert not model._base_manager.filter(**{way: account.pk}).exists(), model
    assert [one.pk for one in Account.objects.all()] == [other_account.pk]
    assert ApiKey.objects.filter(account=other_account).exists()
    entry = AuditEntry.objects.get(action="account.deleted")
    assert (entry.resource_id, entry.actor_type) == (account.pk, "operator")
    for reply in (ApiClient(used).get("/v1/content"), ApiClient(used).post("/v1/access/check", {})):
        assert reply.status_and_code == (401, "invalid_api_key")


def test_a_demo_goes_with_its_ledger(admin, other_account):
    demo = factories.account("Demo", is_demo=True)
    factories.license(demo, price_amount=Decimal(5), price_currency="EUR")
    assert "and the ledger, for it is a demo" in admin.get(page_of(demo)).content.decode()
    submit(admin, page_of(demo), name="Demo")
    assert not Account.objects.filter(pk=demo.pk).exists()


def test_accounts_with_a_ledger_or_too_many_decisions_stay(admin, account, used, monkeypatch):
    monkeypatch.setattr(accounts, "MAX_DECISIONS", 0)
    assert f"manage.py delete_account {account.pk}" in admin.get(page_of(account)).content.decode()
    admin.post(page_of(account), {"name": account.name})
    assert Account.objects.filter(pk=account.pk).exists()

    ledger.add(account)
    reply = admin.get(page_of(account))
    assert "An account with a ledger cannot be deleted" in reply.content.decode()
    assert "Delete it" not in reply.content.decode()
    admin.post(page_of(account), {"name": account.name})
    assert Account.objects.filter(pk=account.pk).exists()
    ledger.add(account)
    with pytest.raises(CommandError, match="has a ledger"):
        call_command("delete_account", account.pk, "--name", account.name)


def test_the_command_deletes_the_named_account(account, used):
    with pytest.raises(CommandError, match="--name"):
        call_command("delete_account", account.pk, "--name", "Another")
    out = io.StringIO()
    call_command("delete_account", account.pk, "--name", account.name, "--json", stdout=out)
    assert json.loads(out.getvalue()) == {"id": account.pk, "object": "account", "deleted": True}
    assert not Account.objects.filter(pk=account.pk).exists()
