import pytest
from django.contrib import admin as django_admin
from django.contrib.auth.models import Group
from django.urls import reverse

from accounts.models import AuditEntry
from analytics.models import AccessEvent, Statement
from operators.base.links import change_url
from tests import factories, ledger

SEARCH = reverse("admin:search")


def links(client, term):
    reply = client.get(SEARCH, {"s": term, "extended": "1"})
    assert reply.status_code == 200
    return [found.link for found in reply.context["results"]]


@pytest.fixture
def things(account):
    held = factories.license(account, "org_acme", requester_name="Acme Labs")
    return {
        "item": factories.content(account, title="Herring quota", external_id="herring-1"),
        "policy": factories.policy(account, name="Licensed only"),
        "licence": held,
        "requester": held.requester,
        "site": factories.site(account),
        "webhook": factories.endpoint(account)[0],
        "client": factories.license_client(account, "org_beta")[0],
        "entry": ledger.add(account, "1"),
        "key": factories.api_key(account, name="Web server")[0],
        "account": account,
    }


def test_things_are_found_by_name_and_id_in_few_queries(admin, things, django_assert_max_num_queries):
    for term, name in (
        ("herring quo", "item"),
        ("herring-1", "item"),
        ("Licensed", "policy"),
        ("acme", "requester"),
        ("org_ac", "requester"),
        ("Web ser", "key"),
    ):
        assert change_url(things[name]) in links(admin, term)
    for name in ("item", "licence", "policy", "key", "account", "site", "webhook", "client", "entry"):
        assert links(admin, things[name].pk) == [change_url(things[name])]
    for term in ("herring", "nothing of that kind", things["item"].pk):
        with django_assert_max_num_queries(24):
            links(admin, term)
    for term in ("", " ", "no such thing", "\0", "x" * 5000, "cnt_", "%", "acc_zzz"):
        assert links(admin, term) == []
    assert reverse("admin:analytics_ledgerentry_changelist") in links(admin, "ledg")


def test_objects_records_and_operators_are_found_by_those_who_may_see_them(
    admin, things, api, sign_in, staff, other_account
):
    for kind in (AccessEvent, AuditEntry, Statement):
        api.post("/v1/access/check", {"contentId": things["item"].pk, "requester": "org_acme"})
        one = kind.objects.order_by("-pk")[0]
        assert links(admin, one.pk) == [change_url(one)]
    user = staff(first_name="Anna")
    assert change_url(user) in links(admin, user.username)
    assert change_url(Group.objects.get(name="Viewer")) in links(admin, "Viewer")
    assert links(sign_in(staff("licensing.view_content")), user.username) == []
    assert links(sign_in(staff("licensing.view_content", accounts=[other_account])), "herring") == []
    assert links(sign_in(staff("licensing.view_policy", accounts=[things["account"]])), "herring") == []


def test_a_requester_is_found_by_a_whole_id_that_looks_like_an_items(admin, things):
    held = factories.license(things["account"], things["item"].pk)
    assert links(admin, things["item"].pk) == [
        change_url(things["item"]),
        *(change_url(one) for one in (held.requester, held)),
    ]


def test_only_what_has_a_name_is_searched_by_text():
    kinds = django_admin.site._registry.values()
    searched = {kind.model.__name__ for kind in kinds if kind.search_fields and getattr(kind, "has_names", True)}
    assert searched == {
        "Account", "ApiKey", "Content", "Group", "License", "LicenseClient", "Policy", "Requester", "Site", "User",
        "WebhookEndpoint",
    }, "Ctrl+K searches these models by text. If objects have no names, set `has_names = False`."  # fmt: skip
