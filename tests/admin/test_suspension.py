import io
import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from operators.base.links import change_url
from tests import factories
from tests.admin.forms import submit
from tests.client import ApiClient


@pytest.fixture
def key(account):
    return factories.api_key(account)[1]


def press(client, account, action):
    return submit(client, reverse(f"admin:accounts_account_{action}", args=[account.pk]))


def test_a_suspended_account_is_refused_and_a_resumed_one_served(admin, account, key, other_account):
    item = factories.content(account, policy_id=factories.policy(account).pk)
    check = {"contentId": item.pk, "requester": factories.LICENSED_REQUESTER}
    assert ApiClient(key).post("/v1/access/check", check).status == 200
    assert press(admin, account, "suspend").status_code == 302
    for reply in (ApiClient(key).get("/v1/content"), ApiClient(key).post("/v1/access/check", check)):
        assert (reply.status, reply["error"]["code"]) == (401, "invalid_api_key")
        assert "suspended" in reply["error"]["message"]
    assert press(admin, account, "resume").status_code == 302
    assert ApiClient(key).post("/v1/access/check", check)["allowed"] is True

    html = admin.get(change_url(account)).content.decode()
    assert ("/suspend" in html, "/resume" in html) == (True, False)
    press(admin, account, "suspend")
    html = admin.get(change_url(account)).content.decode()
    assert ("/suspend" in html, "/resume" in html) == (False, True)
    other = factories.api_key(other_account)[1]
    press(admin, account, "suspend")
    assert ApiClient(other).get("/v1/content").status == 200
    press(admin, account, "suspend")
    html = admin.get(reverse("admin:accounts_account_history", args=[account.pk]), follow=True).content.decode()
    assert "account.suspended" in html


def test_accounts_are_listed_by_a_command(account, other_account):
    out = io.StringIO()
    call_command("list_accounts", stdout=out)
    assert account.pk in out.getvalue()
    assert other_account.name in out.getvalue()
    out = io.StringIO()
    call_command("list_accounts", "--json", stdout=out)
    assert {one["id"] for one in json.loads(out.getvalue())["data"]} == {account.pk, other_account.pk}
