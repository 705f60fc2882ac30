import pytest
from django.urls import reverse

from accounts.models import Account, StaffScope
from operators.base.scope import set_scope
from tests import factories
from tests.admin.forms import html_of

ACCOUNTS, KEYS = reverse("admin:accounts_account_changelist"), reverse("admin:accounts_apikey_changelist")
VIEW = ("accounts.view_account", "accounts.view_apikey")


@pytest.fixture
def two_keys(account, other_account):
    return factories.api_key(account, name="Own key")[0], factories.api_key(other_account, name="Foreign key")[0]


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
