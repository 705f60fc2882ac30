import re

import pytest
from django.urls import reverse

from licensing.policies import services as policy_services
from licensing.policies.describe_rule import describe_rule
from licensing.policies.models import Policy
from operators.policies.differences import rule_differences
from tests import factories, largest
from tests.admin.forms import form_values, submit
from tests.admin.racing import meeting
from tests.factories import ALLOW_ALL, ALLOW_LICENSED, DENY_ALL
from tests.lock_waits import at_once


@pytest.fixture
def policy(account):
    policy = factories.policy(account, name="First name")
    return policy_services.update_policy(policy, {"rules": [ALLOW_ALL, DENY_ALL], "name": "Second name"})


def versions(client, policy, query=""):
    reply = client.get(reverse("admin:licensing_policy_versions", args=[policy.pk]) + query)
    assert reply.status_code == 200
    return reply.content.decode()


def rollback(policy, version):
    return reverse("admin:licensing_policy_rollback", args=[policy.pk, version])


def test_each_version_shows_its_changes_in_pages_to_viewers_without_a_way_back(admin, policy, staff, sign_in, account):
    html = versions(admin, policy)
    newest = html[html.index("Version 2") : html.index("Version 1")]
    assert "<del>First name</del>" in newest
    assert "<ins>Allow always. Grants full_access." in newest
    assert "<del>Allow if the licence is of type commercial or enterprise and the licence is valid." in newest
    first = versions(admin, policy).partition("Version 1")[2]
    assert "<ins>Deny always. Says: “A valid licence is required.” (priority 99)" in first
    for version in (2, 3, 99):
        assert admin.get(rollback(policy, version)).status_code == 404
    viewer = sign_in(staff("licensing.view_policy", accounts=[account]))
    assert "Roll back" not in versions(viewer, policy)
    assert viewer.post(rollback(policy, 1)).status_code == 403
    assert Policy.objects.get().version == 2

    for number in range(30):
        policy = policy_services.update_policy(policy, {"name": f"Name {number}"})
    html = versions(admin, policy)
    assert "Version 32 (now)" in html
    assert "Version 12<" not in html
    assert "Version 12<" in versions(admin, policy, "?before=13")


def test_versions_of_the_largest_policy_come_in_shorter_pages(admin, account):
    policy = factories.policy(account, *largest.rules())
    for number in range(12):
        policy = policy_services.update_policy(policy, {"rules": largest.rules(width=20 + number)})
    html, seen = versions(admin, policy), 0
    while True:
        assert len(html) < 2_000_000
        told = [int(number) for number in re.findall(r"Version (\d+)(?: \(now\))?<", html)]
        seen += len(told)
        if told[-1] == 1:
            break
        html = versions(admin, policy, f"?before={told[-1]}")
    assert seen == 13


def test_a_rollback_asks_first_and_names_what_comes_back(admin, account, policy):
    factories.content(account, policy_id=policy.pk)
    factories.site(account, {"/a/*": policy}, host="marsh.example")
    html = admin.get(rollback(policy, 1)).content.decode()
    assert "1 item links to it, and 1 site uses it for sections, marsh.example (1 pattern): the next checks" in html
    assert "It becomes version 3" in html
    assert "First name" in html
    assert Policy.objects.get().version == 2
    assert submit(admin, rollback(policy, 1)).status_code == 302
    now = Policy.objects.get()
    assert (now.version, now.name, now.rules) == (3, "First name", [ALLOW_LICENSED, DENY_ALL])


def test_a_rollback_sent_twice_writes_one_version(admin, policy):
    fields = form_values(admin.get(rollback(policy, 1)).content.decode())
    first, again = (admin.post(rollback(policy, 1), fields) for _ in range(2))
    assert first.status_code == 302
    assert "Meanwhile it is version 3" in again.content.decode()
    assert Policy.objects.get().version == 3


@pytest.mark.django_db(transaction=True)
def test_two_rollbacks_at_the_same_moment_write_one_version(staff, sign_in, policy, monkeypatch):
    clients = [sign_in(staff(is_superuser=True)) for _ in range(2)]
    fields = form_values(clients[0].get(rollback(policy, 1)).content.decode())
    monkeypatch.setattr(policy_services, "rollback_policy", meeting(policy_services.rollback_policy))
    replies = at_once(*(lambda client=client: client.post(rollback(policy, 1), fields) for client in clients))
    assert sorted(reply.status_code for reply in replies) == [200, 302]
    assert Policy.objects.get().version == 3


def test_rules_and_their_differences_are_in_words():
    rule = {
        "action": "allow",
        "conditions": {"tags": ["a", "b", "c"], "hasValidLicense": False, "before": "2027-01-01"},
        "rateLimit": {"requests": 1, "period": "hour"},
    }
    assert describe_rule(rule) == (
        "Allow if no licence is known to be valid and the item has the tag a, b or c and it is before 2027-01-01. "
        "Grants no permission. Once an hour for each customer."
    )

    first, second, third = ({**ALLOW_LICENSED, "priority": number} for number in (1, 2, 3))
    assert kinds([first, second], [first, second]) == [("same", "Rule 1"), ("same", "Rule 2")]
    assert kinds([first], [first, second]) == [("same", "Rule 1"), ("added", "Rule 2")]
    assert kinds([first, second], [second]) == [("removed", "Rule 1"), ("same", "Rule 1")]
    assert kinds([first, second], [first, third]) == [("same", "Rule 1"), ("changed", "Rule 2")]


def kinds(before, after):
    return [(line.kind, line.what) for line in rule_differences(before, after)]
