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


def test_items_policies_licences_and_tags_are_suggested(admin, account, herrings):
    for term in ("herr", "h-1", "Herring quo"):
        assert suggested(admin, account, "item", term) == {herrings["item"].pk: "Herring quota · h-1"}
    assert suggested(admin, account, "policy", "herr") == {herrings["policy"].pk: "Herring only"}
    held = herrings["license"]
    assert suggested(admin, account, "license", "org_herr") == {held.pk: "commercial of Herring & Sons"}
    for term, tag in (("sea", "Sea Fish"), ("fish", "Sea Fish"), ("only", "only-licensed")):
        assert suggested(admin, account, "tag", term) == {tag: tag}


def test_without_an_account_only_items_are_suggested(admin, account, other_account, herrings):
    labels = suggested(admin, None, "item", "herr").values()
    assert sorted(labels) == [f"Herring of theirs · {other_account.name}", f"Herring quota · h-1 · {account.name}"]
    for kind in (*sorted(set(SUGGESTED) - {"item"}), "nonsense", ""):
        assert suggested(admin, None, kind, "") == {}
    for chosen in ("nothing", "acc_nothing"):
        reply = admin.get(SUGGEST, {"kind": "policy", "term": "herring", "account": chosen})
        assert (reply.status_code, reply.json()) == (200, {"suggestions": []})


def test_known_requesters_are_suggested_and_unknown_ones_offered_as_customers(admin, account, herrings):
    assert suggested(admin, account, "requester", "org_herr") == {"org_herring": "Herring & Sons · org_herring"}
    known = {"org_herring": "Herring & Sons · org_herring"}
    assert suggested(admin, account, "customer", "org_herr") == {**known, "org_herr": "New customer: org_herr"}
    assert suggested(admin, account, "customer", "org_herring") == known


def test_words_are_those_that_the_account_knows(admin, account, herrings):
    rules = [
        {**factories.ALLOW_LICENSED, "permissions": ["read", "full_access"]},
        {"action": "deny", "conditions": {"permission": "print"}},
    ]
    factories.policy(account, *rules)
    for kind, found in (
        ("license_type", ["commercial", "enterprise"]),
        ("permission", ["print", "read"]),
        ("tag", ["news"]),
    ):
        assert list(suggested(admin, account, kind, "news" if kind == "tag" else "")) == found, kind


def test_any_term_is_answered(admin, account, herrings):
    for term in ("", "\0", "x" * 5000, "%", "nobody"):
        for kind in SUGGESTED:
            suggested(admin, account, kind, term)


def test_nothing_is_suggested_without_scope_or_permission(sign_in, account, other_account, herrings, staff):
    elsewhere = sign_in(create_operator("eve", role="Editor", accounts=[other_account])[0])
    without_rights = sign_in(staff("accounts.view_account", accounts=[account]))
    for kind in SUGGESTED:
        for term in ("", "herr"):
            for client in (elsewhere, without_rights):
                assert suggested(client, account, kind, term) == {}, kind


def test_forms_suggest_values_within_their_account(admin, account, herrings):
    policy = herrings["policy"]
    for page in (reverse("admin:check_access"), reverse("admin:licensing_policy_simulator", args=[policy.pk])):
        html = admin.get(page).content.decode()
        for kind in ("item", "requester", "license_type", "permission"):
            assert f'data-suggest="{SUGGEST}?kind={kind}"' in html
        assert "operators/suggest.js" in html
    for page, kinds in (
        ("analytics_ledgerentry", ["license", "requester", "item", "license_type"]),
        ("licensing_licenseclient", ["customer"]),
    ):
        html = admin.get(reverse(f"admin:{page}_add")).content.decode()
        assert [f"?kind={kind}" in html for kind in kinds] == [True] * len(kinds)
        assert "operators/suggest.js" in html
    html = admin.get(change_url(herrings["license"])).content.decode()
    assert f'data-account="{account.pk}"' in html
