import io
import json

import pytest
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from accounts.models import ApiKey
from operators.base.links import change_url
from operators.staff import roles
from operators.staff.services import create_operator
from tests import factories
from tests.admin.forms import submit

KEYS, ADD_KEY = reverse("admin:accounts_apikey_changelist"), reverse("admin:accounts_apikey_add")


@pytest.fixture
def role(account, sign_in):
    """Sign in an operator who has a role for one account."""

    def make(name):
        user, _ = create_operator(name.replace(" ", ""), role=name, accounts=[account])
        return sign_in(user)

    return make


def rights_of(name):
    return {
        f"{right.content_type.app_label}.{right.codename}" for right in Group.objects.get(name=name).permissions.all()
    }


def test_each_role_has_the_rights_that_its_work_needs(db, admin):
    rights = rights_of(roles.VIEWER)
    assert {
        "accounts.view_account",
        "accounts.view_apikey",
        "licensing.view_policy",
        "analytics.view_accessevent",
    } <= rights
    assert not {right for right in rights if ".view_" not in right}
    rights = rights_of(roles.EDITOR)
    assert {"licensing.add_policy", "licensing.change_content", "licensing.change_policy"} <= rights
    assert not {right for right in rights if right.startswith("accounts.") and ".view_" not in right}
    rights = rights_of(roles.KEY_MANAGER)
    assert {"accounts.view_account", "accounts.add_apikey", "accounts.change_apikey"} <= rights
    assert not {right for right in rights if not right.startswith("accounts.")}
    for name in (roles.VIEWER, roles.EDITOR, roles.KEY_MANAGER):
        assert not {right for right in rights_of(name) if "auth" in right or "staffscope" in right}
    html = admin.get(reverse("admin:auth_group_add")).content.decode()
    offered_ones = ("View ledger entries", "Add ledger entries", "Delete policies", "Change licences", "Add customers")
    for offered in offered_ones:
        assert offered in html
    for nowhere in ("Delete ledger entries", "Change ledger entries", "Delete customers", "Delete accounts"):
        assert nowhere not in html
    rights = rights_of(roles.EDITOR)
    assert "analytics.add_ledgerentry" in rights
    assert not rights & {"analytics.delete_ledgerentry", "licensing.delete_requester", "analytics.add_hourlyusage"}


@pytest.mark.parametrize("name", [roles.VIEWER, roles.EDITOR])
def test_roles_that_only_see_keys_cannot_create_rotate_or_revoke_them(role, account, name):
    client, (key, _) = role(name), factories.api_key(account)
    assert client.get(KEYS).status_code == 200
    assert client.get(change_url(key)).status_code == 200
    assert client.post(ADD_KEY, {}).status_code == 403
    for action in ("rotate", "revoke"):
        assert client.post(reverse(f"admin:accounts_apikey_{action}", args=[key.pk])).status_code == 403
    key.refresh_from_db()
    assert key.revoked_at is None
    assert ApiKey.objects.count() == 1


def test_a_key_manager_makes_keys_for_their_account_alone(role, account, other_account):
    client = role(roles.KEY_MANAGER)
    fields = {"name": "Web", "permissions": ["content:read"]}
    assert "svc_sk_" in submit(client, ADD_KEY, account=account.pk, **fields).content.decode()
    assert "svc_sk_" not in submit(client, ADD_KEY, account=other_account.pk, **fields).content.decode()
    assert ApiKey.objects.get().account == account


def test_only_superusers_manage_operators(staff, sign_in, admin, account):
    for page in ("auth_user_changelist", "auth_group_changelist", "auth_user_add"):
        client = sign_in(staff("auth.view_user", "auth.change_user", "auth.add_user", "auth.view_group"))
        assert client.get(reverse(f"admin:{page}")).status_code == 403
    passwords = {"password1": "long-enough-9", "password2": "long-enough-9"}
    address = submit(admin, reverse("admin:auth_user_add"), username="anna", **passwords).headers["Location"]
    viewer = Group.objects.get(name=roles.VIEWER)
    assert submit(admin, address, groups=[viewer.pk], **{"scope-0-accounts": [account.pk]}).status_code == 302
    for none in ("", "nonsense"):
        shown = submit(admin, address, **{"scope-0-accounts": [none]})
        assert shown.status_code == 200
        assert f"“{none}” is not a valid value." in shown.content.decode()
    anna = Client()
    assert anna.login(username="anna", password="long-enough-9")
    factories.api_key(account, name="Seen")
    assert "Seen" in anna.get(KEYS).content.decode()


def test_the_command_makes_operators_that_can_sign_in_from_clear_arguments(db, account):
    for options in ([], ["--role", "viewer", "--superuser"], ["--role", "viewer", "--account", "acc_1"]):
        with pytest.raises(CommandError):
            call_command("create_operator", "ben", *options)
    out = io.StringIO()
    call_command("create_operator", "ben", "--role", "key-manager", "--account", account.pk, "--json", stdout=out)
    client = Client()
    assert client.login(username="ben", password=json.loads(out.getvalue())["password"])
    assert client.get(KEYS).status_code == 200
