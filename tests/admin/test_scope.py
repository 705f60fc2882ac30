import pytest
from django.contrib.admin import site
from django.urls import reverse

from accounts.models import Account, StaffScope
from operators.base.scope import set_scope
from operators.staff.services import create_operator
from tests import factories
from tests.admin.forms import html_of

ACCOUNTS, KEYS = reverse("admin:accounts_account_changelist"), reverse("admin:accounts_apikey_changelist")
VIEW = ("accounts.view_account", "accounts.view_apikey")


@pytest.fixture
def two_keys(account, other_account):
    return factories.api_key(account, name="Own key")[0], factories.api_key(other_account, name="Foreign key")[0]


def test_staff_see_the_keys_and_pages_of_their_accounts_alone(staff, sign_in, account, two_keys, other_account):
    keys = html_of(sign_in(staff(*VIEW, accounts=[account])), KEYS)
    assert "Own key" in keys
    assert "Foreign key" not in keys
    accounts = html_of(sign_in(staff(*VIEW, accounts=[account])), ACCOUNTS)
    assert account.pk in accounts
    assert other_account.pk not in accounts
    _, foreign = two_keys
    reply = sign_in(staff(*VIEW, accounts=[account])).get(reverse("admin:accounts_apikey_change", args=[foreign.pk]))
    assert reply.status_code == 302
    assert reply.headers["Location"] == reverse("admin:index")


def test_all_accounts_are_seen_by_superusers_and_with_their_scope(admin, two_keys, staff, sign_in):
    assert StaffScope.objects.count() == 0
    assert "Foreign key" in html_of(admin, KEYS)
    user = staff(*VIEW)
    set_scope(user, all_accounts=True)
    keys = html_of(sign_in(user), KEYS)
    assert "Own key" in keys
    assert "Foreign key" in keys
    assert "Own key" not in html_of(sign_in(staff(*VIEW)), KEYS)


def test_pages_need_permission_and_former_staff_are_signed_out(staff, sign_in, account):
    client = sign_in(staff("accounts.view_account", accounts=[account]))
    assert client.get(KEYS).status_code == 403
    assert KEYS not in html_of(client, ACCOUNTS)
    user = staff(*VIEW, accounts=[account])
    client = sign_in(user)
    user.is_active = False
    user.save()
    assert client.get(KEYS).status_code == 302
    user = staff(*VIEW, accounts=list(Account.objects.all()))
    later = factories.account(name="Later")
    assert later.pk not in html_of(sign_in(user), ACCOUNTS)


BY_ACCOUNT = [
    reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    for model, model_admin in site._registry.items()
    if any(isinstance(item, tuple) and item[0] == "account" for item in model_admin.list_filter or ())
]


@pytest.mark.parametrize("address", BY_ACCOUNT)
def test_filters_do_not_reveal_the_names_of_other_accounts(account, sign_in, address):
    hidden = factories.account(name="Hidden from them")
    user, _ = create_operator("eve", role="Viewer", accounts=[account])
    client = sign_in(user)
    assert "Hidden from them" not in html_of(client, f"{address}?account__id__exact={hidden.pk}")
    assert account.name in html_of(client, f"{address}?account__id__exact={account.pk}")


@pytest.mark.parametrize("role", ["Viewer", "Key manager"])
def test_no_search_offers_another_account(account, other_account, sign_in, role):
    user, _ = create_operator("eve", role=role, accounts=[account])
    query = {"app_label": "accounts", "model_name": "apikey", "field_name": "account", "term": "Other"}
    assert sign_in(user).get(reverse("admin:autocomplete"), query).json()["results"] == []
