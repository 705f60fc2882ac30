import re

import pytest
from django.urls import reverse

from analytics.models import AccessEvent
from kit.values.timestamps import parse_timestamp
from licensing.policies.models import Policy, PolicyRevision
from tests import factories
from tests.admin.forms import form_values, open_form, submit

PAGE = reverse("admin:check_access")


@pytest.fixture
def policy(account):
    return factories.policy(account, name="Commercial use")


@pytest.fixture
def item(account, policy):
    return factories.content(account, policy_id=policy.pk, external_id="a-1", title="Markets", tags=["markets"])


ASKED = {
    "item": "a-1",
    "requester": "org_a",
    "licenseType": "commercial",
    "hasValidLicense": "yes",
    "permission": "print",
}


def html_of(reply):
    assert reply.status_code == 200
    return re.sub(r"\s+", " ", reply.content.decode().replace("&#x27;", "'"))


def test_a_check_is_decided_with_its_trace_and_leaves_nothing(admin, account, item, api, policy):
    assert f'href="{PAGE}"' in html_of(admin.get(reverse("admin:index")))
    values = form_values(admin.get(PAGE, {"item": item.pk, "requester": "org_a"}).content.decode())
    assert (values["item"], values["requester"]) == ([item.pk], ["org_a"])
    html = html_of(submit(admin, PAGE, **ASKED))
    assert "Allowed" in html
    assert "Decides." in html
    assert "Commercial use</a>, version 1" in html
    assert api.get("/v1/access/decisions")["totalCount"] == 0

    html = html_of(submit(admin, PAGE, item=item.pk, requester="org_a"))
    assert "Denied: no_license" in html
    assert "There was no valid licence." in html
    assert "“A valid licence is required.”" in html

    factories.license(account, "org_b", per_access="0.25")
    html = html_of(submit(admin, PAGE, item=item.pk, requester="org_b"))
    assert "held by the service" in html
    assert "It would cost 0.25 USD." in html


def test_a_check_says_attributes_or_is_decided_by_the_metadata(admin, account, api, item):
    rule = {"action": "allow", "conditions": {"attributes": {"country": "DE"}}, "permissions": ["print"]}
    api.patch(f"/v1/policies/{item.policy_id}", {"rules": [rule]})
    asked = {"item": "a-1", "requester": "org_a", "permission": "print"}
    assert "saw country=FR" in html_of(submit(admin, PAGE, **asked, attributes="country=FR, seats=3"))
    assert "Allowed" in html_of(submit(admin, PAGE, **asked, attributes="country=DE"))
    assert "Write attributes as country=DE" in html_of(submit(admin, PAGE, **asked, attributes="country"))
    api.post("/v1/requesters", {"id": "org_a", "metadata": {"country": "DE"}})
    assert "Allowed" in html_of(submit(admin, PAGE, **asked))


def test_an_unknown_requester_is_named_as_one_with_the_customer_meant(admin, api, account, other_account, item):
    factories.license(account, "org_b", requester_name="Brand & Co")
    factories.license(other_account, "org_theirs", requester_name="Brand & Co")
    html = html_of(submit(admin, PAGE, item=item.pk, requester="brand & co"))
    assert "Unknown customer: no customer has the id brand &amp; co yet." in html
    assert "Enter the customer's id, org_b." in html
    assert "org_theirs" not in html
    assert api.post("/v1/access/check", {"contentId": item.pk, "requester": "Brand & Co"}).status == 200
    assert "Enter the customer's id, org_b." in html_of(submit(admin, PAGE, item=item.pk, requester="Brand & Co"))
    assert "the name of a customer" not in html_of(submit(admin, PAGE, item=item.pk, requester="org_nobody"))
    assert "Unknown requester" not in html_of(submit(admin, PAGE, item=item.pk, requester="org_b"))


def test_invalid_values_are_reported_at_their_fields(admin, item):
    send = open_form(admin, PAGE)
    for fields, message in (
        ({"item": "no-such"}, "There is no content item"),
        ({"item": ""}, "This field is required"),
        ({"ip": "here"}, "Must be an IP address"),
        ({"permission": "Print"}, "Must be a permission"),
        ({"at": "soon"}, "Must be an ISO 8601 timestamp"),
        ({"at": "1969-12-31"}, "Must be in the years 2000 to "),
        ({"at": "9999-12-31"}, "Must be in the years 2000 to "),
    ):
        assert message in html_of(send(**{**ASKED, **fields})), message


def test_pages_times_and_items_without_a_policy_are_decided(admin, account, policy):
    ended = {"action": "allow", "conditions": {"before": "2020-01-01"}, "permissions": ["full_access"]}
    item = factories.content(account, policy_id=factories.policy(account, ended).pk)
    assert "Denied" in html_of(submit(admin, PAGE, item=item.pk, requester="x"))
    assert "Allowed" in html_of(submit(admin, PAGE, item=item.pk, requester="x", at="2019-01-01"))
    html = html_of(submit(admin, PAGE, item=factories.content(account).pk, requester="x"))
    assert "Denied: no_policy" in html
    assert "Keep as an example" not in html
    site = factories.site(account, {"/premium/*": policy})
    html = html_of(submit(admin, PAGE, item=f"https://{site.host}/premium/x", requester="org_a"))
    assert "Denied: no_license" in html


def test_the_account_is_chosen_unless_an_items_id_says_it(admin, other_account, item, account):
    assert "Denied: no_license" in html_of(submit(admin, PAGE, item=item.pk, requester="org_a"))
    assert "Choose the account" in html_of(submit(admin, PAGE, **ASKED))
    assert "There is no content item" in html_of(submit(admin, PAGE, item="cnt_none", requester="org_a"))
    assert "Allowed" in html_of(submit(admin, PAGE, **ASKED, account=account.pk))
    admin.get(reverse("admin:index"), {"account": account.pk})
    values = form_values(admin.get(PAGE).content.decode())
    assert values["account"] == [account.pk]
    assert "Allowed" in html_of(submit(admin, PAGE, **ASKED))


def test_the_page_needs_permission_and_reveals_no_other_account(staff, sign_in, account, other_account, item):
    rights = ("licensing.view_policy", "licensing.view_content", "analytics.view_accessevent")
    viewer = sign_in(staff(*rights, accounts=[other_account]))
    assert "There is no content item" in html_of(submit(viewer, PAGE, item=item.pk, requester="org_a"))
    assert "Markets" not in html_of(submit(viewer, PAGE, item=item.pk, requester="org_a", account=account.pk))
    assert sign_in(staff("licensing.view_content", accounts=[account])).get(PAGE).status_code == 403


@pytest.fixture
def decision(api, item):
    check = {"contentId": item.pk, "requester": factories.LICENSED_REQUESTER, "permission": "print"}
    return api.post("/v1/access/check", {**check, "context": {"ip": "203.0.113.9"}})["id"]


def again(client, decision):
    reply = client.get(reverse("admin:analytics_accessevent_decide_again", args=[decision]))
    assert reply.status_code == 302
    return html_of(client.get(reply.headers["Location"]))


def test_a_recorded_decision_is_decided_again_by_the_rules_of_now_for_its_own_account(
    admin, api, policy, decision, staff, sign_in, other_account
):
    assert "Now: <strong>allowed</strong>" in again(admin, decision)
    api.patch(f"/v1/policies/{policy.pk}", {"rules": [factories.DENY_ALL]})
    html = again(admin, decision)
    assert "</time>: <strong>allowed</strong>. Now: <strong>denied (policy_denied)</strong>" in html
    values = form_values(html)
    assert values["requester"] == ["org_acme"]
    assert (values["licenseType"], values["hasValidLicense"], values["permission"]) == (
        ["commercial"],
        ["yes"],
        ["print"],
    )
    assert values["ip"] == ["203.0.113.9"]
    assert AccessEvent.objects.count() == 1

    html = html_of(admin.get(reverse("admin:analytics_accessevent_change", args=[decision])))
    assert "Decide this again now" in html
    rights = ("licensing.view_policy", "licensing.view_content", "analytics.view_accessevent")
    viewer = sign_in(staff(*rights, accounts=[other_account]))
    assert viewer.get(PAGE, {"decision": decision}).status_code == 404
    assert viewer.get(PAGE, {"decision": "dec_1"}).status_code == 404


def keep(client, html, **fields):
    return client.post(PAGE, {**form_values(html), "keep": "1", **fields})


def test_a_decision_is_kept_as_an_example_of_its_policy(admin, account, policy, item):
    html = html_of(submit(admin, PAGE, **ASKED, ip="203.0.113.9"))
    reply = keep(admin, html, name="Customers print")
    assert reply.status_code == 302
    assert reply.headers["Location"].endswith("#examples")
    policy.refresh_from_db()
    assert policy.version == 2
    assert policy.tests == [
        {
            "name": "Customers print",
            "requester": {"id": "org_a", "licenseType": "commercial", "hasValidLicense": True},
            "content": {"type": "article", "tags": ["markets"]},
            "permission": "print",
            "context": {"ip": "203.0.113.9"},
            "expect": {"allowed": True},
        }
    ]


def test_an_example_is_kept_once_and_not_if_the_decision_is_outdated(admin, api, policy, item):
    html = html_of(submit(admin, PAGE, **ASKED))
    api.patch(f"/v1/policies/{policy.pk}", {"rules": [factories.DENY_ALL]})
    assert "The decision is different now" in html_of(keep(admin, html))
    assert Policy.objects.get().tests == []

    html = html_of(submit(admin, PAGE, **ASKED))
    keep(admin, html)
    assert "already has this test" in html_of(admin.get(keep(admin, html).headers["Location"]))
    assert Policy.objects.get().version == 3


@pytest.mark.parametrize(
    ("licence", "kept"),
    [
        ({}, [{"licenseType": "commercial"}]),
        ({"expires_at": "2021-01-01T00:00:00Z", "starts_at": "2020-01-01T00:00:00Z"}, "lapsed"),
    ],
)
def test_licences_that_the_service_holds_are_part_of_it(admin, account, policy, item, licence, kept):
    factories.license(account, "org_b", **{name: parse_timestamp(value) for name, value in licence.items()})
    keep(admin, html_of(submit(admin, PAGE, item=item.pk, requester="org_b")))
    [test] = Policy.objects.get().tests
    if kept == "lapsed":
        assert test["expect"] == {"allowed": False, "reason": "license_expired"}
    else:
        assert test["requester"]["licenses"] == kept


def test_an_example_says_when_where_the_policy_looks_at_the_time(admin, account):
    ended = {"action": "allow", "conditions": {"before": "2020-01-01"}, "permissions": ["full_access"]}
    item = factories.content(account, policy_id=factories.policy(account, ended).pk)
    keep(admin, html_of(submit(admin, PAGE, item=item.pk, requester="x", at="2019-01-01")))
    [test] = Policy.objects.get().tests
    assert test["at"] == "2019-01-01T00:00:00.000000Z"


def test_an_observed_decision_is_kept_as_it_would_be_enforced(admin, account, policy, item):
    Policy.objects.update(mode="observe", version=2)
    PolicyRevision.objects.update(mode="observe", version=2)
    html = html_of(submit(admin, PAGE, item=item.pk, requester="x"))
    assert "(observed)" in html
    keep(admin, html)
    assert Policy.objects.get().tests[0]["expect"] == {"allowed": False, "reason": "no_license"}


def test_an_operator_who_may_not_change_policies_keeps_no_example(staff, sign_in, account, item):
    viewer = sign_in(staff("licensing.view_policy", "licensing.view_content", accounts=[account]))
    html = html_of(submit(viewer, PAGE, **ASKED))
    assert "Keep as an example" not in html
    keep(viewer, html, name="Mine")
    assert Policy.objects.get().tests == []
