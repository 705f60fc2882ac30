"""Fields suggest values while typing, within the operator's scope."""

import pytest
from django.urls import reverse

from operators.base.links import change_url
from operators.staff.services import create_operator
from operators.suggestions import SUGGESTED
from tests import factories

SUGGEST = reverse("admin:suggest")


def suggested(client, account, kind, term):
    query = {"kind": kind, "term": term, "account": account.pk if account else ""}
    reply = client.get(SUGGEST, query)
    assert reply.status_code == 200
    return {one["value"]: one["label"] for one in reply.json()["suggestions"]}


@pytest.fixture
def things(account, other_account):
    made = {
        "item": factories.content(account, title="Herring quota", external_id="h-1", tags=["Sea Fish", "news"]),
        "policy": factories.policy(account, name="Herring only"),
        "license": factories.license(account, "org_herring", requester_name="Herring & Sons", tags=["only-licensed"]),
    }
    factories.content(other_account, title="Herring of theirs", tags=["news-of-theirs"])
    factories.policy(other_account, {**factories.ALLOW_LICENSED, "permissions": ["theirs"]}, name="Herring of theirs")
    factories.license(other_account, "org_herring_theirs")
    return made


@pytest.mark.parametrize("term", ["herr", "h-1", "Herring quo"])
def test_items_are_suggested_by_title_or_external_id(admin, account, things, term):
    assert suggested(admin, account, "item", term) == {things["item"].pk: "Herring quota · h-1"}


def test_without_an_account_items_are_suggested_with_theirs(admin, account, other_account, things):
    labels = suggested(admin, None, "item", "herr").values()
    assert sorted(labels) == [f"Herring of theirs · {other_account.name}", f"Herring quota · h-1 · {account.name}"]


def test_policies_are_suggested_by_name(admin, account, things):
    assert suggested(admin, account, "policy", "herr") == {things["policy"].pk: "Herring only"}


def test_licences_are_suggested_by_their_requester(admin, account, things):
    held = things["license"]
    assert suggested(admin, account, "license", "org_herr") == {held.pk: "commercial of Herring & Sons"}


def test_requesters_are_suggested(admin, account, things):
    assert suggested(admin, account, "requester", "org_herr") == {"org_herring": "Herring & Sons · org_herring"}


def test_an_unknown_requester_is_offered_as_a_new_customer(admin, account, things):
    known = {"org_herring": "Herring & Sons · org_herring"}
    assert suggested(admin, account, "customer", "org_herr") == {**known, "org_herr": "New customer: org_herr"}
    assert suggested(admin, account, "customer", "org_herring") == known


@pytest.mark.parametrize(("term", "tag"), [("sea", "Sea Fish"), ("fish", "Sea Fish"), ("only", "only-licensed")])
def test_tags_are_suggested_that_items_and_licences_have(admin, account, things, term, tag):
    assert suggested(admin, account, "tag", term) == {tag: tag}


@pytest.mark.parametrize(
    ("kind", "found"),
    [("license_type", ["commercial", "enterprise"]), ("permission", ["print", "read"]), ("tag", ["news"])],
)
def test_words_are_those_that_the_account_knows(admin, account, things, kind, found):
    rules = [
        {**factories.ALLOW_LICENSED, "permissions": ["read", "full_access"]},
        {"action": "deny", "conditions": {"permission": "print"}},
    ]
    factories.policy(account, *rules)
    assert list(suggested(admin, account, kind, "news" if kind == "tag" else "")) == found


@pytest.mark.parametrize("kind", SUGGESTED)
@pytest.mark.parametrize("term", ["", "\0", "x" * 5000, "%", "nobody"])
def test_any_term_is_answered(admin, account, things, kind, term):
    suggested(admin, account, kind, term)


@pytest.mark.parametrize("kind", SUGGESTED)
def test_of_an_account_that_one_may_not_see_nothing_is_suggested(sign_in, account, other_account, things, kind):
    client = sign_in(create_operator("eve", role="Editor", accounts=[other_account])[0])
    for term in ("", "herr"):
        assert suggested(client, account, kind, term) == {}


@pytest.mark.parametrize("kind", [*sorted(set(SUGGESTED) - {"item"}), "nonsense", ""])
def test_without_an_account_words_and_people_are_not_suggested(admin, account, things, kind):
    assert suggested(admin, None, kind, "") == {}


@pytest.mark.parametrize("kind", SUGGESTED)
def test_suggestions_require_permission_to_see_the_objects(sign_in, staff, account, things, kind):
    client = sign_in(staff("accounts.view_account", accounts=[account]))
    for term in ("", "herr"):
        assert suggested(client, account, kind, term) == {}


def test_the_page_that_checks_access_and_the_simulator_suggest(admin, account, things):
    policy = things["policy"]
    for page in (reverse("admin:check_access"), reverse("admin:licensing_policy_simulator", args=[policy.pk])):
        html = admin.get(page).content.decode()
        for kind in ("item", "requester", "license_type", "permission"):
            assert f'data-suggest="{SUGGEST}?kind={kind}"' in html
        assert "operators/suggest.js" in html


@pytest.mark.parametrize(
    ("page", "kinds"),
    [
        ("analytics_ledgerentry", ["license", "requester", "item", "license_type"]),
        ("licensing_licenseclient", ["customer"]),
    ],
)
def test_so_do_the_forms_of_the_ledger_and_of_licence_clients(admin, account, page, kinds):
    html = admin.get(reverse(f"admin:{page}_add")).content.decode()
    assert [f"?kind={kind}" in html for kind in kinds] == [True] * len(kinds)
    assert "operators/suggest.js" in html


def test_the_account_of_a_stored_thing_is_said_on_its_page(admin, account, things):
    html = admin.get(change_url(things["license"])).content.decode()
    assert f'data-account="{account.pk}"' in html


def test_an_unknown_account_gets_no_suggestions(admin, things):
    for account in ("nothing", "acc_nothing"):
        reply = admin.get(SUGGEST, {"kind": "policy", "term": "herring", "account": account})
        assert (reply.status_code, reply.json()) == (200, {"suggestions": []})
