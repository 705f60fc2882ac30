import re

import orjson
import pytest
from django.urls import reverse

from licensing.content import services as content_services
from licensing.policies import services as policy_services
from licensing.policies.models import Policy
from operators.base.links import change_url
from tests import factories
from tests.admin.forms import form_values, open_form, submit
from tests.admin.policy_forms import ADD, LIST, confirm, html_of, press, save
from tests.factories import ALLOW_LICENSED, DENY_ALL


@pytest.fixture
def policy(account):
    return factories.policy(account, name="Commercial use")


@pytest.fixture
def item(account, policy):
    return factories.content(account, policy_id=policy.pk, title="Markets")


def rules_of(policy):
    return Policy.objects.get(pk=policy.pk).rules


def test_the_list_and_page_of_a_policy_show_its_rules_and_items(admin, account, policy, item):
    html = html_of(admin.get(LIST))
    assert "Commercial use" in html
    row = html[html.index("Commercial use") :]
    assert "field-number_of_rules" in row
    assert row[row.index("field-number_of_items") :].partition("</td>")[0].strip().endswith("1")

    factories.content(account, title="Of another policy")
    html = html_of(admin.get(change_url(policy)))
    assert "1 item links to it" in html
    [address] = re.findall(r'href="(/admin/licensing/content/\?[^"]+)"', html)
    shown = html_of(admin.get(address))
    assert "Markets" in shown
    assert "Of another policy" not in shown


def test_a_policy_is_written_in_rows(admin, account):
    rows = {
        "rules-0-action": "allow", "rules-0-priority": "1", "rules-0-licenseType": "commercial\r\nenterprise",
        "rules-0-hasValidLicense": "yes", "rules-0-permissions": "full_access",
        "rules-0-requests": "100", "rules-0-period": "hour",
        "rules-1-action": "deny", "rules-1-default": "on", "rules-1-message": "No.",
    }  # fmt: skip
    reply = submit(admin, ADD, account=account.pk, name="New", default_action="deny", _save="Save", **rows)
    assert reply.status_code == 302
    assert Policy.objects.get().rules == [
        {
            "action": "allow",
            "conditions": {"hasValidLicense": True, "licenseType": ["commercial", "enterprise"]},
            "priority": 1,
            "permissions": ["full_access"],
            "rateLimit": {"requests": 100, "period": "hour"},
        },
        {"action": "deny", "conditions": {"default": True}, "message": "No."},
    ]


EVERYTHING = [
    {
        "action": "allow",
        "priority": 5,
        "conditions": {
            "licenseType": ["one"],
            "hasValidLicense": False,
            "requesterId": ["org a", "org,b"],
            "contentType": ["article", "video"],
            "tags": " kept as it is ",
            "category": "Wirtschaft & Börse",
            "permission": "read",
            "ip": ["203.0.113.0/24", "2001:db8::/32"],
            "before": "2027-01-01",
            "after": "2026-01-01T00:00:00+02:00",
        },
        "permissions": [],
        "rateLimit": {"requests": 1, "period": "month"},
        "message": "",
    },
    DENY_ALL,
]


def test_untouched_rules_and_conditions_keep_their_text_and_counts(admin, account):
    policy = factories.policy(account, *EVERYTHING)
    save(admin, policy, name="Other name")
    saved = Policy.objects.get()
    assert (saved.name, saved.version, saved.rules) == ("Other name", 2, EVERYTHING)
    reply = save(admin, policy, **{"rules-0-requests": "7"})
    confirm(admin, reply)
    [first, _] = rules_of(policy)
    assert first["rateLimit"] == {"requests": 7, "period": "month"}
    assert first["conditions"] == EVERYTHING[0]["conditions"]


def test_errors_and_lint_are_shown_and_saving_without_a_change_writes_no_version(admin, policy):
    save(admin, policy)
    assert Policy.objects.get().version == 1
    html = press(admin, policy, "check", **{"rules-1-priority": "0"})
    assert "rule 1 is tried before it, and matches whatever it matches: its priority is 0, this one" in html
    assert "Nothing to object to" in press(admin, policy, "check")
    html = html_of(save(admin, policy, **{"rules-0-ip": "here", "rules-1-priority": "-1"}))
    assert "error_rules-0-ip" in html
    assert "error_rules-1-priority" in html


def test_the_rows_buttons_work_without_scripts_and_save_nothing(admin, policy):
    for button, actions in (
        ("add", ["allow", "allow", "deny"]),
        ("remove-0", ["deny"]),
        ("down-0", ["deny", "allow"]),
        ("up-1", ["deny", "allow"]),
        ("up-0", ["allow", "deny"]),
        ("remove-9", ["allow", "deny"]),
        ("nonsense", ["allow", "deny"]),
    ):
        values = form_values(press(admin, policy, button, name="Typed meanwhile"))
        shown = [values[f"rules-{number}-action"] for number in range(len(actions))]
        assert shown == [[action] for action in actions], button
        assert values["name"] == ["Typed meanwhile"], button
        assert Policy.objects.get().version == 1, button


def test_rules_can_be_edited_as_json_and_back(admin, policy):
    values = form_values(press(admin, policy, "json"))
    for wrong, message in (("[", "This is not JSON"), ('[{"a":1,"a":2}]', "twice"), ("{}", "array of rules")):
        assert message in html_of(admin.post(change_url(policy), {**values, "rules-json": wrong, "_save": "1"}))
        assert Policy.objects.get().version == 1

    values = form_values(press(admin, policy, "json"))
    assert orjson.loads(values["rules-json"][0]) == policy.rules
    text = orjson.dumps([ALLOW_LICENSED]).decode()
    values = form_values(html_of(admin.post(change_url(policy), {**values, "rules-json": text, "_edit": "rows"})))
    assert "rules-json" not in values
    assert values["rules-0-licenseType"] == ["commercial\nenterprise"]


def test_invalid_values_are_reported_at_the_fields_of_the_rule(admin, account):
    policy = factories.policy(account, {**ALLOW_LICENSED, "rateLimit": {"requests": 1, "period": "day"}}, DENY_ALL)
    send = open_form(admin, change_url(policy))
    for fields, name, message in (
        ({"rules-0-ip": "10.0.0.1/8"}, "rules-0-ip", "without host bits"),
        ({"rules-0-priority": "first"}, "rules-0-priority", "Must be an integer"),
        ({"rules-0-period": ""}, "rules-0-period", "This field is required"),
        ({"rules-0-requests": "0"}, "rules-0-requests", "Must be an integer from 1"),
        ({"rules-0-before": "soon"}, "rules-0-before", "Must be an ISO 8601 timestamp"),
        ({"rules-0-permissions": "Read All"}, "rules-0-permissions", "Must be a permission"),
        ({"rules-1-default": ""}, "rules-1-default", "Must name a condition"),
        ({"rules-1-permissions": "read"}, "rules-1-permissions", "Only an allow rule"),
    ):
        html = html_of(send(_save="Save", **fields))
        at_field = html[html.index(f'id="error_{name}"') :].partition("</p>")[0]
        assert message in at_field, name
        assert Policy.objects.get().version == 1, name


def test_confirming_a_change_does_not_overwrite_a_newer_version(admin, policy, item):
    reply = save(admin, policy, **{"rules-0-licenseType": "enterprise"})
    policy_services.update_policy(policy, {"name": "Theirs"})
    assert "Somebody changed this policy" in html_of(confirm(admin, reply))
    assert (Policy.objects.get().version, rules_of(policy)) == (2, policy.rules)


def test_a_confirmed_change_decides_the_next_check(admin, api, policy, item):
    check = {"contentId": item.pk, "requester": factories.LICENSED_REQUESTER}
    reply = save(admin, policy, **{"rules-0-licenseType": "enterprise"})
    html = html_of(reply)
    assert "1 item links to it" in html
    assert "commercial or enterprise" in html
    assert Policy.objects.get().version == 1
    assert api.post("/v1/access/check", check)["allowed"] is True
    assert confirm(admin, reply).status_code == 302
    assert Policy.objects.get().version == 2
    assert rules_of(policy)[0]["conditions"] == {"hasValidLicense": True, "licenseType": "enterprise"}
    assert api.post("/v1/access/check", check)["allowed"] is False


def test_the_sites_whose_sections_use_a_policy_are_named_before_it_is_saved(admin, account, policy):
    factories.site(account, {"/premium/*": policy, "/archive/*": policy, "/free/*": None}, host="marsh.example")
    factories.site(account, {"/premium/*": policy}, host="quay.example")
    row = html_of(admin.get(LIST)).partition("Commercial use")[2]
    assert "marsh.example and 1 more" in row[row.index("field-sites_with_it") :].partition("</td>")[0]
    html = html_of(admin.get(change_url(policy)))
    assert "2 sites use it for sections" in html
    for site in ("marsh.example (2 patterns)", "quay.example (1 pattern)"):
        assert f">{site}</a>" in html

    html = html_of(save(admin, policy, **{"rules-0-licenseType": "enterprise"}))
    assert "No item links to it, and 2 sites use it for sections, marsh.example (2 patterns) and quay.example" in html
    assert "If that makes a section stricter, the proxy files of these sites change." in html
    assert Policy.objects.get().version == 1


def test_a_new_policy_that_lint_warns_of_asks_first(admin, account):
    rows = {"rules-0-action": "allow", "rules-0-default": "on", "rules-0-permissions": "full_access"}
    reply = submit(admin, ADD, account=account.pk, name="Open", default_action="deny", _save="Save", **rows)
    assert "Allows access without any licence" in html_of(reply)
    assert Policy.objects.count() == 0
    confirm(admin, reply)
    assert Policy.objects.get().name == "Open"


def test_going_back_keeps_the_values_and_a_new_name_needs_no_confirmation(admin, policy, item):
    reply = save(admin, policy, **{"rules-0-licenseType": "enterprise", "name": "Newer"})
    values = form_values(html_of(reply))
    values.pop("confirmed")
    again = form_values(html_of(admin.post(change_url(policy), {**values, "_edit": "back"})))
    assert (again["rules-0-licenseType"], again["name"]) == (["enterprise"], ["Newer"])
    assert Policy.objects.get().version == 1
    assert save(admin, policy, name="Newer").status_code == 302
    assert Policy.objects.get().name == "Newer"


def test_viewers_change_no_policy(staff, sign_in, account, policy):
    viewer = sign_in(staff("licensing.view_policy", accounts=[account]))
    html = html_of(viewer.get(change_url(policy)))
    assert "Allow if the licence is of type commercial or enterprise and the licence is valid" in html
    assert "_save" not in html
    viewer.post(change_url(policy), {"name": "Mine", "_save": "1"})
    assert Policy.objects.get().name == "Commercial use"


def test_a_policy_in_use_is_not_deleted_and_the_page_says_why(admin, policy, item, account):
    address = reverse("admin:licensing_policy_delete_policy", args=[policy.pk])
    html = html_of(admin.get(address))
    assert "Delete it" not in html
    [way] = re.findall(r'href="([^"]+)">1 item links to it', html)
    assert "Markets" in html_of(admin.get(way.replace("&amp;", "&")))
    assert "1 content item still links to this policy." in html_of(submit(admin, address))
    content_services.delete_content(item)
    assert submit(admin, address).status_code == 302
    assert Policy.objects.get().deleted_at is not None
    html_of(admin.get(LIST))  # which repeats the message of the deletion
    assert "Commercial use" not in html_of(admin.get(LIST))

    policy = factories.policy(account)
    factories.site(account, {"/a/*": policy}, host="marsh.example")
    html = admin.get(reverse("admin:licensing_policy_delete_policy", args=[policy.pk])).content.decode()
    assert "marsh.example (1 pattern)" in html
    assert "Delete it" not in html
