import re

import pytest
from django.urls import reverse

from licensing.policies.models import Policy
from operators.base.links import change_url
from tests import factories
from tests.admin.forms import form_values, open_form, submit


@pytest.fixture
def policy(account):
    return factories.policy(account)


@pytest.fixture
def item(account, policy):
    return factories.content(account, policy_id=policy.pk, external_id="a-1", title="Markets")


@pytest.fixture
def address(policy):
    return reverse("admin:licensing_policy_simulator", args=[policy.pk])


@pytest.fixture
def draft(admin, policy, item):
    """Open the simulator with a proposed policy that allows only enterprise licences."""
    reply = submit(admin, change_url(policy), _edit="simulate", **{"rules-0-licenseType": "enterprise"})
    html = reply.content.decode()
    assert "It is not saved" in html
    return form_values(html)


TRIAL = {
    "do": "trial",
    "item": "a-1",
    "requester": "org_a",
    "licenseType": "commercial",
    "hasValidLicense": "yes",
    "at": "",
}


def sides(reply):
    assert reply.status_code == 200
    html = reply.content.decode()
    return html.split('<section aria-label="')[1:]


def test_a_check_is_decided_by_the_saved_policy_and_recorded_nowhere(admin, address, item, api):
    [saved] = sides(submit(admin, address, **TRIAL, permission="print"))
    assert "Saved (version 1)" in saved
    assert "Allowed" in saved
    assert "Decides." in saved
    submit(admin, address, **TRIAL)
    assert api.get("/v1/access/decisions")["totalCount"] == 0
    send = open_form(admin, address)
    for fields, message in (
        ({"item": "no-such"}, "There is no content item"),
        ({"item": ""}, "This field is required"),
        ({"ip": "here"}, "Must be an IP address"),
        ({"permission": "Print"}, "Must be a permission"),
        ({"at": "soon"}, "Must be an ISO 8601 timestamp"),
    ):
        reply = send(**{**TRIAL, **fields})
        assert sides(reply) == []
        assert message in reply.content.decode()
    for sent in ("", "[]", "{", '{"fields": {"rules": [1]}}', '{"fields": {"default_action": "maybe"}}'):
        assert len(sides(admin.post(address, {**TRIAL, "draft": sent}))) == 1


def test_the_draft_stands_beside_the_saved_policy_and_goes_back_to_the_editor(admin, address, draft, policy):
    saved, other = sides(admin.post(address, {**draft, **TRIAL}))
    assert "Allowed" in saved
    assert "Denied: policy_denied" in other
    assert "licenseType wants enterprise, saw commercial" in other
    assert Policy.objects.get().version == 1
    html = admin.post(change_url(policy), {**draft, "_edit": "back"}).content.decode()
    assert form_values(html)["rules-0-licenseType"] == ["enterprise"]
    assert Policy.objects.get().version == 1


def test_the_time_can_be_another(admin, account, address, policy, item):
    embargo = {"action": "deny", "priority": 0, "conditions": {"before": "2030-01-01"}}
    Policy.objects.update(rules=[embargo, factories.ALLOW_LICENSED])
    [now] = sides(submit(admin, address, **TRIAL))
    [later] = sides(submit(admin, address, **{**TRIAL, "at": "2030-01-01"}))
    assert "Denied" in now
    assert "Allowed" in later


def test_the_replay_lists_newly_denied_customers(admin, api, address, item, draft):
    api.post("/v1/access/check", {"contentId": item.pk, "requester": factories.LICENSED_REQUESTER})
    html = admin.post(address, {**draft, "do": "replay", "period": "7d"}).content.decode()
    assert "1 decision from" in html
    [decision] = re.findall(r'href="(/admin/analytics/accessevent/[^"]+)"', html)
    assert admin.get(decision).status_code == 200
    row = html[html.index("Customers with most changes") :]
    assert "Acme" in row
    assert "policy_denied" in html


def test_an_operator_who_may_not_see_decisions_gets_no_replay(staff, sign_in, api, account, address, item):
    viewer = sign_in(staff("licensing.view_policy", accounts=[account]))
    assert "Replay" not in viewer.get(address).content.decode()
    assert "from 20" not in viewer.post(address, {"do": "replay", "period": "7d"}).content.decode()


NEW = reverse("admin:licensing_policy_draft")


@pytest.fixture
def new_draft(admin, account, item):
    """The simulator, opened by its button on a policy that was never saved."""
    rules = {"rules-0-action": "allow", "rules-0-licenseType": "enterprise", "rules-0-hasValidLicense": "yes"}
    fields = {"account": account.pk, "name": "Newer", "default_action": "deny", **rules}
    html = submit(admin, reverse("admin:licensing_policy_add"), _edit="simulate", **fields).content.decode()
    assert "It is not saved" in html
    return form_values(html)


def test_a_new_policy_is_tried_before_it_is_saved(admin, new_draft, other_account, staff, sign_in):
    [draft] = sides(admin.post(NEW, {**new_draft, **TRIAL}))
    assert draft.startswith("Draft")
    assert "licenseType wants enterprise, saw commercial" in draft
    assert Policy.objects.count() == 1
    html = admin.post(reverse("admin:licensing_policy_add"), {**new_draft, "_edit": "back"}).content.decode()
    assert form_values(html)["rules-0-licenseType"] == ["enterprise"]
    theirs = factories.policy(other_account)
    html = admin.post(NEW, {**new_draft, "do": "replay", "period": "7d", "replaced": theirs.pk}).content.decode()
    assert "decision from" not in html
    editor = sign_in(staff("licensing.view_policy", "licensing.add_policy", accounts=[other_account]))
    assert editor.post(NEW, {**new_draft, **TRIAL}).status_code == 302


def test_a_new_policy_is_replayed_in_the_place_of_another(admin, api, policy, item, new_draft):
    api.post("/v1/access/check", {"contentId": item.pk, "requester": factories.LICENSED_REQUESTER})
    html = admin.post(NEW, {**new_draft, "do": "replay", "period": "7d", "replaced": policy.pk}).content.decode()
    assert "1 decision from" in html
    assert "policy_denied" in html


def test_a_new_draft_that_no_page_has_sent_leads_to_the_editor(admin, account):
    for sent in ("", "{", '{"fields": {}, "carried": []}', '{"fields": {"rules": []}, "carried": []}'):
        reply = admin.post(NEW, {**TRIAL, "draft": sent})
        assert reply.headers["Location"] == reverse("admin:licensing_policy_add"), sent
