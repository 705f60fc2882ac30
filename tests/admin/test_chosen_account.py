from urllib.parse import urlsplit

import pytest
from django.urls import reverse
from django.utils.html import strip_tags

from licensing.content.models import Content
from licensing.licenses.models import License
from operators.base import scope
from operators.base.links import change_url, list_url
from operators.base.scope import set_scope
from operators.staff.services import create_operator
from tests import factories
from tests.admin.forms import form_values

INDEX = reverse("admin:index")
SWITCH = reverse("admin:switch_account")


def switch(client, account, page=INDEX):
    reply = client.post(SWITCH, {"account": account.pk if account else "", "next": page})
    assert reply.status_code == 302
    return urlsplit(reply.headers["Location"]).path


def listed(client, model, **query):
    reply = client.get(list_url(model, **query))
    assert reply.status_code == 200
    return {one.account_id for one in reply.context["cl"].result_list}


@pytest.fixture
def both(account, other_account):
    for owner in (account, other_account):
        factories.license(owner)
        factories.content(owner, title=f"Herring of {owner.name}", external_id="herring")
    return account, other_account


def test_lists_search_and_overview_show_the_chosen_account_alone(admin, both):
    for model in (Content, License):
        account, other = both
        assert listed(admin, model) == {account.pk, other.pk}
        switch(admin, other)
        assert listed(admin, model) == {other.pk}
        switch(admin, None)
        assert listed(admin, model) == {account.pk, other.pk}
    switch(admin, both[1])
    assert admin.get(INDEX).context["choice"].account == both[1]

    account, other = both
    switch(admin, other)
    html = admin.get(reverse("admin:search"), {"s": "herring"}).content.decode()
    assert f"Herring of {other.name}" in html
    assert f"Herring of {account.name}" not in html
    query = {"app_label": "analytics", "model_name": "accessevent", "field_name": "content", "term": "herring"}
    found = admin.get(reverse("admin:autocomplete"), query).json()["results"]
    assert [one["text"] for one in found] == [f"Herring of {other.name}"]


def test_a_switch_shows_the_same_list_again(admin, both):
    crawlers, item = reverse("admin:visitors"), Content.objects.get(account=both[0])
    assert switch(admin, both[1], crawlers) == crawlers
    assert switch(admin, both[1], reverse("admin:licensing_content_change", args=[item.pk])) == list_url(Content)
    for elsewhere in ("/docs/", "/v1/content", "https://example.com/", "/admin/no/such/page/"):
        assert switch(admin, both[1], elsewhere) == INDEX
    for page, shown in (
        ("/admin/licensing/license/", "/admin/licensing/license/"),
        ("/admin/licensing/license/lic_x/change/", "/admin/licensing/license/"),
        ("/admin/licensing/licenseclient/add/", "/admin/licensing/licenseclient/"),
        ("/admin/", "/admin/"),
        ("https://evil.example/admin/licensing/license/", "/admin/"),
        ("//evil.example/", "/admin/"),
        ("/v1/content", "/admin/"),
        ("", "/admin/"),
        ("x\0y", "/admin/"),
    ):
        assert switch(admin, both[0], page) == shown
    assert admin.get(SWITCH, {"account": both[0].pk}).headers["Location"] == INDEX
    assert "account" not in str(admin.session.get(scope.SESSION_KEY))


def test_a_chosen_account_is_not_repeated_in_rows_and_gives_way_to_filters(admin, both):
    assert "column-account" in admin.get(list_url(License)).content.decode()
    switch(admin, both[0])
    assert "column-account" not in admin.get(list_url(License)).content.decode()
    account, other = both
    switch(admin, other)
    assert listed(admin, License, account__id__exact=account.pk) == {account.pk}
    admin.get(INDEX, {"account": both[1].pk})
    assert listed(admin, License) == {both[1].pk}
    admin.get(INDEX, {"account": ""})
    assert listed(admin, License) == {both[0].pk, both[1].pk}


FORMS = ("accounts_apikey", "accounts_webhookendpoint", "analytics_ledgerentry", "licensing_content")
FORMS_TOO = ("licensing_policy", "licensing_license", "licensing_site", "licensing_licenseclient")


def test_a_superuser_is_not_asked_for_the_only_account(admin, account):
    for page in (*(f"{model}_add" for model in FORMS + FORMS_TOO), "licensing_content_import_items"):
        assert form_values(admin.get(reverse(f"admin:{page}")).content.decode())["account"] == [account.pk]
    assert "account-switch" not in admin.get(INDEX).content.decode()


def test_the_choice_holds_on_every_page_and_in_forms(admin, both):
    switch(admin, both[1])
    for page in (INDEX, list_url(License), change_url(License.objects.get(account=both[1]))):
        html = admin.get(page).content.decode()
        summary = html[html.index("account-switch") :]
        assert f"Account {both[1].name}" in " ".join(strip_tags(summary[: summary.index("</summary>")]).split())
    assert admin.get(change_url(License.objects.get(account=both[0]))).status_code == 200
    form = form_values(admin.get(reverse("admin:licensing_license_add")).content.decode())
    assert form["account"] == [both[1].pk]


def test_an_account_that_one_may_not_see_cannot_be_chosen(sign_in, account, other_account, both):
    user, _ = create_operator("eve", role="Viewer", accounts=[account, factories.account("Third")])
    client = sign_in(user)
    switch(client, other_account)
    assert client.get(INDEX).context["choice"].account is None
    switch(client, account)
    set_scope(user, accounts=[other_account])  # while the session goes on
    assert listed(client, License) == {other_account.pk}


def test_deleted_and_many_accounts_are_offered_as_they_are_used(admin, both, monkeypatch):
    gone = factories.account("Gone")
    switch(admin, gone)
    gone.delete()
    assert "You cannot see an account" not in admin.get(INDEX).content.decode()
    assert listed(admin, License) == {one.pk for one in both}

    monkeypatch.setattr(scope, "MAX_OFFERED", 1)
    switch(admin, both[0])
    html = admin.get(INDEX).content.decode()
    assert f"<strong>{both[0].name}</strong>" in html
