import io
import re
from decimal import Decimal

import pytest
from django.contrib import admin as django_admin
from django.contrib.auth.models import Group, Permission, User
from django.urls import NoReverseMatch, reverse

from accounts.models import Account, ApiKey, AuditEntry
from accounts.webhooks.models import WebhookEndpoint
from analytics.models import AccessEvent, LedgerEntry, Payment, Statement
from analytics.wallets.models import Wallet
from licensing.clients.models import LicenseClient
from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.policies.models import Policy
from licensing.requesters.models import Requester
from licensing.sites.models import Site
from operators import error_pages
from operators.base.links import change_url
from operators.staff.services import create_operator
from tests import factories
from tests.admin.every_page import patterns
from tests.admin.forms import form_values
from tests.client import ApiClient
from tests.standing import as_new

SECRET = "Hidden from them"
# Only superusers see operators and their groups. Every other model belongs to an account.
MODELS = tuple(model for model in django_admin.site._registry if model not in (User, Group))
EVERYBODY = ["Viewer", "Editor", "Key manager"]
everybody = pytest.mark.parametrize("role", EVERYBODY)


def make_decision(account):
    item = factories.content(account, policy_id=factories.policy(account).pk)
    check = {"contentId": item.pk, "requester": "org_a"}
    assert ApiClient(factories.key_text(account)).post("/v1/access/check", check).status == 200


def make_sale(account):
    sale = {"amount": "3", "currency": "EUR", "description": SECRET}
    assert ApiClient(factories.key_text(account)).post("/v1/revenue", sale).status == 201


def make_license(account):
    factories.license(account, "org_a", license_type=SECRET, price_amount=Decimal(5), price_currency="EUR")


# How to make one of each model's rows, with SECRET in it or in the name of its requester.
MAKERS = {
    Account: lambda account: Account.objects.filter(pk=account.pk).update(name=SECRET),
    ApiKey: lambda account: factories.api_key(account, name=SECRET),
    AuditEntry: lambda account: factories.policy(account, name=SECRET),
    WebhookEndpoint: lambda account: factories.endpoint(account, description=SECRET),
    Content: lambda account: factories.content(
        account, title=SECRET, category=SECRET, policy_id=factories.policy(account).pk
    ),
    AccessEvent: make_decision,
    Site: lambda account: factories.site(account, {"/*": factories.policy(account)}, name=SECRET),
    Requester: lambda account: factories.requester(account, name=SECRET),
    LedgerEntry: make_sale,
    LicenseClient: lambda account: factories.license_client(account, "org_a", name=SECRET),
    License: make_license,
    Payment: lambda account: factories.payment(account, requester_id="org_a", reference=SECRET),
    Statement: make_license,
    Wallet: lambda account: factories.wallet(account, requester_id="org_a"),
    Policy: lambda account: factories.policy(account, name=SECRET, description=SECRET),
}


def test_every_model_of_an_account_has_a_row_here():
    assert set(MODELS) == set(MAKERS)


@pytest.fixture(scope="module")
def theirs(for_the_module):
    """One of each resource of the other account, containing SECRET; by model."""
    with for_the_module():
        account = factories.account()
        for model in MODELS:
            MAKERS[model](account)
        Requester.objects.update(name=SECRET)
        return {model: newest_of(model, account) for model in MODELS}


@pytest.fixture
def other_account(theirs, db):
    return as_new(theirs[Account].pk)


def newest_of(model, account):
    owned = {"pk" if model is Account else "account_id": account.pk}
    named = {"title": SECRET} if model is Content else {}  # the pages of a site are an item that no list shows
    return model.objects.filter(**owned, **named).order_by("-pk")[0]


def is_visible(model, role):
    """Return whether the role may see the model's list."""
    return Permission.objects.filter(
        group__name=role, content_type__app_label=model._meta.app_label, codename=f"view_{model._meta.model_name}"
    ).exists()


@pytest.fixture
def intruder(account, sign_in):
    def make(role):
        factories.content(account, title="Their own")
        return sign_in(create_operator("eve", role=role, accounts=[account])[0])

    return make


def text_of(reply):
    body = b"".join(reply.streaming_content) if reply.streaming else reply.content
    return body.decode() + reply.headers.get("Location", "")


def addresses(theirs):
    """Yield the address of every view that takes an id, with the other account's ids."""
    for model, obj in theirs.items():
        for name in sorted({pattern.name for pattern in patterns()}):
            if not name.startswith(f"{model._meta.app_label}_{model._meta.model_name}_"):
                continue
            for arguments in ([obj.pk], [obj.pk, 1]):
                try:
                    yield reverse(f"admin:{name}", args=arguments)
                except NoReverseMatch:
                    continue


def everything(theirs):
    """Return the text of all rows."""
    return [list(model.objects.filter(pk=obj.pk).values()) for model, obj in theirs.items()]


@pytest.fixture
def _bare_error_pages(monkeypatch):
    """Show error pages without the frame that all pages of an operator have: most of these addresses lead to them."""
    monkeypatch.setattr(
        error_pages, "render_to_string", lambda _, context, request: f"{context['title']} {context['text']}"
    )


bare_error_pages = pytest.mark.usefixtures("_bare_error_pages")
SENT = {"name": "Mine", "title": "Mine", "overlap_seconds": "0", "confirmed": "1", "do": "replay", "period": "30d"}


@everybody
@bare_error_pages
def test_no_address_with_an_id_of_theirs_shows_or_changes_anything(role, intruder, theirs):
    client, before = intruder(role), everything(theirs)
    opened = list(addresses(theirs))
    assert {change_url(obj) for obj in theirs.values()} <= {*opened}
    for address in opened:
        for reply in (client.get(address), client.post(address, SENT)):
            assert reply.status_code in (302, 403, 404, 405), address
            assert SECRET not in text_of(reply), address
    assert everything(theirs) == before


@bare_error_pages
def test_a_viewer_of_their_account_changes_nothing_and_adds_nothing(sign_in, theirs, other_account):
    viewer = sign_in(create_operator("eve", role="Viewer", accounts=[other_account])[0])
    before, counts = everything(theirs), [model.objects.count() for model in MODELS]
    for address in addresses(theirs):
        viewer.post(address, SENT)
    for model, obj in theirs.items():
        assert viewer.get(change_url(obj)).status_code == (200 if is_visible(model, "Viewer") else 403)
        add = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")
        assert [viewer.get(add).status_code, viewer.post(add, SENT).status_code] == [403, 403]
    assert (everything(theirs), [model.objects.count() for model in MODELS]) == (before, counts)


@everybody
@bare_error_pages
def test_no_list_filter_search_or_order_tells_of_them(role, intruder, theirs, account):
    client = intruder(role)
    for model in MODELS:
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        named = {related: related._meta.model_name for related in theirs}
        queries = [f"q={SECRET}", f"q={theirs[model].pk}"]
        queries += [
            f"{name}__id__exact={theirs[related].pk}" for related, name in named.items() if hasattr(model, name)
        ]
        for query in ["all=1", *queries]:
            reply = client.get(f"{address}?{query}", follow=True)
            assert (reply.status_code == 200) is is_visible(model, role), (address, query)
            if reply.status_code == 200:
                assert theirs[model].pk not in [row.pk for row in reply.context["cl"].result_list], (address, query)
            # the search box repeats the term
            html = re.sub(r'value="[^"]*"|href="[^"]*"|content="[^"]*"', "", reply.content.decode())
            assert SECRET not in html, (address, query)


@everybody
@bare_error_pages
def test_no_field_that_searches_offers_them(role, intruder, theirs):
    client, answered = intruder(role), 0
    for model in MODELS:
        for field in model._meta.fields:
            query = {
                "app_label": model._meta.app_label,
                "model_name": model._meta.model_name,
                "field_name": field.name,
            }
            # Another field is refused before it is searched, whoever asks.
            terms = ("", "Hidden") if field.is_relation else [""] if role == EVERYBODY[0] else []
            for term in terms:
                reply = client.get(reverse("admin:autocomplete"), {**query, "term": term})
                assert SECRET not in reply.content.decode()
                answered += reply.status_code == 200
    assert answered > 0


@everybody
def test_neither_the_overview_nor_the_export_shows_their_account(role, intruder, theirs, other_account):
    client = intruder(role)
    html = client.get(f"{reverse('admin:index')}?account={other_account.pk}").content.decode()
    assert SECRET not in html
    assert "You cannot see an account with this id" in html
    export = reverse("admin:licensing_content_export_items")
    assert SECRET not in text_of(client.get(f"{export}?account__id__exact={other_account.pk}", follow=True))


@pytest.mark.parametrize("action", ["archive", "restore", "assign_policy"])
def test_no_bulk_action_reaches_their_items(intruder, theirs, action):
    item, policy = theirs[Content], theirs[Content].policy_id
    sent = {"action": action, "_selected_action": [item.pk], "select_across": "0", "index": "0"}
    address = reverse("admin:licensing_content_changelist")
    client = intruder("Editor")
    for more in ({}, {"concerned": "x", "policy": "none"}):
        assert SECRET not in text_of(client.post(address, {**sent, **more}))
    item.refresh_from_db()
    assert (item.status, item.policy_id) == ("active", policy)


FORMS = {
    Content: {"title": "Mine"},
    Policy: {"name": "Mine", "confirmed": "1"},
    License: {"requester_own_id": "org_a", "license_type": "gold"},
    LedgerEntry: {"amount": "3", "currency": "EUR", "description": "Mine"},
}


@pytest.mark.parametrize("model", FORMS, ids=lambda model: model.__name__)
def test_nothing_is_made_in_their_account(intruder, theirs, other_account, model):
    client, before = intruder("Editor"), model.objects.count()
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")
    fields = form_values(client.get(address).content.decode())
    reply = client.post(address, {**fields, **FORMS[model], "account": other_account.pk})
    assert (reply.status_code, model.objects.count()) == (200, before)
    assert SECRET not in text_of(reply)


def test_ones_own_objects_name_nothing_of_theirs(intruder, theirs, account):
    client = intruder("Editor")
    address = reverse("admin:licensing_content_add")
    fields = form_values(client.get(address).content.decode())
    reply = client.post(address, {**fields, "account": account.pk, "title": "Mine", "policy": theirs[Policy].pk})
    assert reply.status_code == 200
    assert SECRET not in text_of(reply)

    address = reverse("admin:analytics_ledgerentry_add")
    fields = {**form_values(client.get(address).content.decode()), **FORMS[LedgerEntry], "account": account.pk}
    for name, model in (("of_decision", AccessEvent), ("of_license", License), ("of_content", Content)):
        reply = client.post(address, {**fields, name: theirs[model].pk})
        assert reply.status_code == 200
        assert SECRET not in text_of(reply)
    assert not LedgerEntry.objects.filter(account=account).exists()


def test_the_simulator_decides_none_of_their_items(intruder, theirs, account):
    policy = factories.policy(account, name="Mine")
    address = reverse("admin:licensing_policy_simulator", args=[policy.pk])
    reply = intruder("Viewer").post(address, {"do": "trial", "item": theirs[Content].pk, "requester": "org_a"})
    assert reply.status_code == 200
    assert SECRET not in text_of(reply)


def test_no_upload_goes_into_their_account(intruder, theirs, other_account):
    file = io.BytesIO(b"title\nMine\n")
    file.name = "items.csv"
    reply = intruder("Editor").post(
        reverse("admin:licensing_content_import_items"), {"account": other_account.pk, "file": file}
    )
    assert reply.status_code == 200
    assert SECRET not in text_of(reply)


def test_a_form_that_their_item_came_of_leads_nowhere(intruder, theirs, admin, other_account):
    address = reverse("admin:licensing_content_add")
    fields = {**form_values(admin.get(address).content.decode()), "account": other_account.pk, "title": SECRET}
    admin.post(address, fields)
    assert SECRET not in text_of(intruder("Editor").post(address, fields, follow=True))
