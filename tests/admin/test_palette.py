"""Ctrl+K finds any object the operator may see, by id or name."""

import pytest
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


@pytest.mark.parametrize(
    ("term", "name"),
    [
        ("herring quo", "item"),
        ("herring-1", "item"),
        ("Licensed", "policy"),
        ("acme", "requester"),
        ("org_ac", "requester"),
        ("Web ser", "key"),
    ],
)
def test_a_thing_is_found_by_its_name(admin, things, term, name):
    assert change_url(things[name]) in links(admin, term)


@pytest.mark.parametrize("name", ["item", "licence", "policy", "key", "account", "site", "webhook", "client", "entry"])
def test_a_thing_is_found_by_its_id(admin, things, name):
    assert links(admin, things[name].pk) == [change_url(things[name])]


def test_it_takes_fewer_than_25_queries_whatever_is_found(admin, things, django_assert_max_num_queries):
    for term in ("herring", "nothing of that kind", things["item"].pk):
        with django_assert_max_num_queries(24):
            links(admin, term)


@pytest.mark.parametrize("kind", [AccessEvent, AuditEntry, Statement])
def test_records_are_found_by_their_ids(admin, things, api, kind):
    api.post("/v1/access/check", {"contentId": things["item"].pk, "requester": "org_acme"})
    one = kind.objects.order_by("-pk")[0]
    assert links(admin, one.pk) == [change_url(one)]


def test_operators_and_roles_are_found_by_name(admin, sign_in, staff, things):
    user = staff(first_name="Anna")
    assert change_url(user) in links(admin, user.username)
    assert change_url(Group.objects.get(name="Viewer")) in links(admin, "Viewer")
    assert links(sign_in(staff("licensing.view_content")), user.username) == []


def test_a_requester_is_found_by_a_whole_id_that_looks_like_an_items(admin, things):
    held = factories.license(things["account"], things["item"].pk)
    assert links(admin, things["item"].pk) == [
        change_url(things["item"]),
        *(change_url(one) for one in (held.requester, held)),
    ]


def test_a_page_is_found_by_its_title(admin):
    assert reverse("admin:analytics_ledgerentry_changelist") in links(admin, "ledg")


def test_the_palette_finds_only_objects_that_the_operator_may_see(staff, sign_in, things, other_account):
    assert links(sign_in(staff("licensing.view_content", accounts=[other_account])), "herring") == []
    assert links(sign_in(staff("licensing.view_policy", accounts=[things["account"]])), "herring") == []


@pytest.mark.parametrize("term", ["", " ", "no such thing", "\0", "x" * 5000, "cnt_", "%", "acc_zzz"])
def test_unknown_terms_find_nothing(admin, things, term):
    assert links(admin, term) == []
