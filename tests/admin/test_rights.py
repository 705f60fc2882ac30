import re

import pytest
from django.contrib.admin.utils import quote
from django.urls import Resolver404, resolve, reverse

from licensing.requesters.models import Requester
from operators import navigation
from operators.base.links import change_url
from tests import factories
from tests.admin.every_page import fill, models, newest_of
from tests.admin.forms import html_of


@pytest.fixture
def reader(staff, sign_in, account):
    """Sign in an operator with these permissions for the account."""
    return lambda *permissions: sign_in(staff(*permissions, accounts=[account]))


@pytest.fixture
def item(account, api):
    policy = factories.policy(account, name="Open")
    item = factories.content(account, title="Markets", policy_id=policy.pk)
    factories.license(account, "org_a", license_type="of gold")
    decided = api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_a"})
    item.decision = decided.body["id"]
    return item


def test_pages_show_related_objects_to_those_who_may_view_them(reader, item, account):
    address = change_url(item)
    assert "Latest decisions" not in reader("licensing.view_content").get(address).content.decode()
    html = reader("licensing.view_content", "analytics.view_accessevent").get(address).content.decode()
    assert "Latest decisions" in html
    assert item.decision.removeprefix("dec_") in html

    address = change_url(Requester.objects.get())
    html = reader("licensing.view_requester").get(address).content.decode()
    assert item.title not in html
    assert "of gold" not in html
    html = reader("licensing.view_requester", "analytics.view_accessevent").get(address).content.decode()
    assert item.title in html
    assert "of gold" not in html
    assert "of gold" in reader("licensing.view_requester", "licensing.view_license").get(address).content.decode()
    for page in ("change", "simulator"):
        address = reverse(f"admin:licensing_policy_{page}", args=[item.policy_id])
        assert "Markets" not in reader("licensing.view_policy").get(address).content.decode()
        assert "Markets" in reader("licensing.view_policy", "licensing.view_content").get(address).content.decode()
    factories.api_key(account)
    assert "Working keys" not in reader("accounts.view_account").get(change_url(account)).content.decode()
    html = reader("accounts.view_account", "accounts.view_apikey").get(change_url(account)).content.decode()
    assert "Working keys" in html


def test_the_sidebar_lists_the_pages_that_one_right_opens(reader):
    pages = [page for page in navigation.PAGES if page.permissions]
    rights = {right for page in pages for right in page.permissions}
    for right in sorted(rights - {"auth.view_user", "auth.view_group"}):  # no role has these
        client = reader(right)
        html = client.get(reverse("admin:index")).content.decode()
        for page in [page for page in pages if right in page.permissions]:
            address = reverse(f"admin:{page.name}")
            opens = client.get(address).status_code == 200
            assert (right, page.title, f'href="{address}"' in html) == (right, page.title, opens)


LINK = re.compile(r'<a\b[^>]*\bhref="(/admin/[^"#?]*)')
NO_ROLE_HAS = ("auth.view_user", "auth.view_group")


def test_pages_link_to_no_page_that_their_readers_may_not_open(reader, account, api):
    fill(api, account)
    rights = {name: f"{model._meta.app_label}.view_{model._meta.model_name}" for name, model in models().items()}
    closed = []
    for name, right in rights.items():
        newest = newest_of(models()[name])
        if right in NO_ROLE_HAS or newest is None:
            continue
        client = reader(right)
        for address in (reverse("admin:index"), reverse(f"admin:{name}change", args=[quote(newest)])):
            closed += [
                (right, address, link)
                for link in LINK.findall(html_of(client, address))
                if needed(link, rights) - {right}
            ]
    assert closed == []


def needed(link, rights):
    """Return the right that a link to a list or to an object's page needs, if it is one."""
    try:
        page = resolve(link).url_name
    except Resolver404:
        return set()
    return {right for name, right in rights.items() if page in (f"{name}change", f"{name}changelist")}
