import re
from collections import Counter

import pytest
from django.contrib.auth.models import Group, User
from django.urls import reverse

from accounts.models import AuditEntry
from licensing.policies import services as policy_services
from operators.access import audit_log
from operators.base.links import change_url
from operators.base.scope import set_scope
from tests import auditlog, factories, largest
from tests.admin.forms import html_of, submit
from tests.source_files import PRODUCT, sources

LOG = reverse("admin:accounts_auditentry_changelist")
VIEW = "accounts.view_auditentry"


def page_of(entry):
    return reverse("admin:accounts_auditentry_change", args=[entry.pk])


def new_password():
    return {"password1": "kite-lamp-57-orbit", "password2": "kite-lamp-57-orbit", "usable_password": "true"}


@pytest.fixture
def fields_of_an_operator():
    return {
        "username": "grace", "email": "grace@example.org", "is_active": "on", "scope-TOTAL_FORMS": "1",
        "scope-INITIAL_FORMS": "0", "scope-MIN_NUM_FORMS": "0", "scope-MAX_NUM_FORMS": "1",
    }  # fmt: skip


def test_the_list_shows_actor_action_and_resource_and_finds_all_of_an_id(admin, account):
    key, _ = factories.api_key(account, name="Desk")
    page = html_of(admin, LOG)
    assert "api_key.created" in page
    assert f"Desk ({key.prefix}…)" in page

    item, other = factories.content(account, title="Searched"), factories.content(account, title="Other one")
    page = html_of(admin, f"{LOG}?q={item.pk}")
    assert "Searched" in page
    assert "Other one" not in page
    assert "Other one" in html_of(admin, f"{LOG}?q={other.pk}")


def test_an_entry_shows_each_changed_line_and_what_is_around_it(admin, account):
    policy = factories.policy(account, factories.ALLOW_ALL, name="Terms")
    policy_services.update_policy(policy, {"name": "New terms", "rules": [factories.ALLOW_ALL, factories.DENY_ALL]})
    [_, entry] = auditlog.entries(resource_id=policy.pk)
    page = html_of(admin, page_of(entry))
    assert "<del>Terms</del><ins>New terms</ins>" in page
    assert "<ins>    &quot;action&quot;: &quot;deny&quot;,</ins>" in page
    assert "<span>      &quot;full_access&quot;</span>" in page

    rules = [{**factories.ALLOW_ALL, "priority": number} for number in range(100)]
    policy = factories.policy(account, *rules)
    policy_services.update_policy(policy, {"rules": [*rules[:50], {**rules[50], "priority": 777}, *rules[51:]]})
    [_, entry] = auditlog.entries(resource_id=policy.pk)
    page = html_of(admin, page_of(entry))
    assert "<del>    &quot;priority&quot;: 50</del><ins>    &quot;priority&quot;: 777</ins>" in page
    assert "&quot;priority&quot;: 48" not in page

    names = [f"org_{number}" for number in range(2_400)]
    policy = factories.policy(account, {"action": "deny", "conditions": {"requesterId": names}})
    policy_services.update_policy(policy, {"rules": [{"action": "deny", "conditions": {"requesterId": names[::-1]}}]})
    [_, entry] = auditlog.entries(resource_id=policy.pk)
    assert "lines before and" in html_of(admin, page_of(entry))

    rules = largest.rules()
    policy = factories.policy(account, *rules)
    policy_services.update_policy(policy, {"rules": [*rules[:2], {**rules[2], "priority": 777}, *rules[3:]]})
    [_, entry] = auditlog.entries(resource_id=policy.pk)
    assert "<ins>    &quot;priority&quot;: 777</ins>" in html_of(admin, page_of(entry))


def test_lines_that_come_again_and_again_are_not_compared(monkeypatch):
    """Comparing n repeated lines takes O(n³) time."""
    monkeypatch.setattr(audit_log, "SequenceMatcher", None)
    before, after = ([{"tags": [one] * 500}, {"tags": [other] * 500}] for one, other in ("ab", "ba"))
    [(kind, said)] = audit_log.difference(before, after)
    assert (kind, said.partition(",")[0]) == ("left out", "1")
    assert said.endswith("too many to compare here. The API tells them all.")


def test_a_difference_has_all_that_went_and_came():
    for before, after in (
        ([1, 2, 3, 4, 5, 6, 7, 8], [1, 2, 3, 4, 5, 6, 7, 9]),
        ([1, 2, 3, 4, 5, 6, 7, 8], [0, 2, 3, 4, 5, 6, 7, 8]),
        ([1, 1, 1, 1], [1, 1, 1]),
        (["a"] * 20, ["a"] * 10),
        ([], ["a"] * 10),
        ("one", None),
        (None, "one\ntwo"),
        ("a\nb", "a\nb\nc"),
    ):
        told = audit_log.difference(before, after)
        old, new = (audit_log.text_lines(value) for value in (before, after))
        gone, came = ([line for kind, line in told if kind == one] for one in ("removed", "added"))
        kept = [line for kind, line in told if kind == "kept"]
        assert Counter(old) - Counter(new) == Counter(gone) - Counter(came), (before, after)
        assert Counter(new) - Counter(old) == Counter(came) - Counter(gone), (before, after)
        assert not Counter(kept) - Counter(old), (before, after)
        assert len(kept) <= 6, (before, after)


def test_the_audit_log_escapes_markup(admin, account):
    factories.content(account, title="<script>alert(1)</script>")
    [entry] = auditlog.entries(action="content.created")
    for address in (LOG, page_of(entry)):
        assert "<script>alert" not in html_of(admin, address)


def test_entries_cannot_be_added_changed_or_deleted(admin, account):
    [entry] = auditlog.entries(action="account.created")
    assert admin.get(reverse("admin:accounts_auditentry_add")).status_code == 403
    assert admin.post(page_of(entry), {"action": "x"}).status_code == 403
    assert admin.post(reverse("admin:accounts_auditentry_delete", args=[entry.pk])).status_code == 403
    assert 'name="_save"' not in html_of(admin, page_of(entry))


def test_operators_see_changes_of_their_accounts_and_none_of_operators(staff, sign_in, account, other_account, admin):
    page = html_of(sign_in(staff(VIEW, accounts=[account])), LOG)
    assert account.name in page
    assert other_account.name not in page
    Group.objects.create(name="Night desk")
    admin.post(reverse("admin:auth_group_add"), {"name": "Day desk"})
    viewer = staff(VIEW)
    set_scope(viewer, all_accounts=True)
    assert "Day desk" in html_of(admin, LOG)
    assert "Day desk" not in html_of(sign_in(viewer), LOG)


def test_an_entry_outlives_the_account_in_the_admin_too(admin, other_account):
    [entry] = auditlog.entries(account=other_account)
    other_account.delete()
    assert "account.created" in html_of(admin, page_of(entry))
    assert "account.created" in html_of(admin, LOG)


def test_the_entry_of_an_operator_has_their_name_and_request(admin, account):
    operator = User.objects.get(is_superuser=True)
    key, _ = factories.api_key(account)
    address = reverse("admin:accounts_apikey_revoke", args=[key.pk])
    assert admin.post(address, {"confirm": "1"}, headers={"X-Request-Id": "trace-9"}).status_code == 302
    [entry] = auditlog.entries(action="api_key.revoked")
    assert (entry.actor_type, entry.actor_id, entry.actor_name) == ("operator", str(operator.pk), operator.username)
    assert (entry.account_id, entry.request_id, entry.address) == (account.pk, "trace-9", "127.0.0.1")


def test_making_an_operator_and_giving_them_a_role_is_logged(admin, fields_of_an_operator):
    group = Group.objects.create(name="Desk")
    admin.post(reverse("admin:auth_user_add"), {**fields_of_an_operator, **new_password()})
    user = User.objects.get(username="grace")
    submit(admin, change_url(user), groups=[group.pk])
    made, changed = auditlog.entries(resource_type="operator", resource_id=str(user.pk))
    assert (made.action, made.changes["username"]) == ("operator.created", [None, "grace"])
    assert (changed.action, changed.changes) == ("operator.updated", {"roles": [[], ["Desk"]]})


def test_a_role_is_logged_from_making_to_deletion(admin):
    admin.post(reverse("admin:auth_group_add"), {"name": "Desk"})
    group = Group.objects.get(name="Desk")
    submit(admin, change_url(group), name="Night desk")
    admin.post(reverse("admin:auth_group_delete", args=[group.pk]), {"post": "yes"})
    made = auditlog.entries(resource_type="role")
    assert [entry.action for entry in made] == ["role.created", "role.updated", "role.deleted"]
    assert made[1].changes == {"name": ["Desk", "Night desk"]}


def test_new_passwords_are_logged_and_not_shown(admin, staff):
    user = staff()
    admin.post(reverse("admin:auth_user_password_change", args=[user.pk]), new_password())
    [entry] = auditlog.entries(action="operator.password_changed")
    user.refresh_from_db()
    assert entry.resource_id == str(user.pk)
    logged = str(list(AuditEntry.objects.values()))
    assert "kite-lamp-57-orbit" not in logged
    assert user.password not in logged


def test_ones_own_new_password_is_logged_too(staff, sign_in):
    user = staff(password="old-kite-lamp-57")
    fields = {"new_password1": "kite-lamp-57-orbit", "new_password2": "kite-lamp-57-orbit"}
    client = sign_in(user)
    client.post(reverse("admin:password_change"), {"old_password": "wrong", **fields})
    assert auditlog.entries(action="operator.password_changed") == []
    client.post(reverse("admin:password_change"), {"old_password": "old-kite-lamp-57", **fields})
    assert len(auditlog.entries(action="operator.password_changed", actor_id=str(user.pk))) == 1


def test_an_account_changed_in_the_admin_is_logged(admin, account):
    submit(admin, change_url(account), name="Renamed")
    [entry] = auditlog.entries(action="account.updated")
    assert entry.changes == {"name": ["Publisher", "Renamed"]}
    assert entry.actor_type == "operator"


def test_the_log_can_be_narrowed_to_each_kind_of_resource():
    recorded = set()
    for path in sources(*PRODUCT):
        recorded |= set(re.findall(r'audit\.(?:record|build_change)\(\s*"(\w+)\.', path.read_text()))
    assert {"content", "wallet", "site"} <= recorded
    assert recorded - audit_log.KINDS.keys() == set()
