from hypothesis import given
from hypothesis import strategies as st

from licensing.policies.models import Policy
from licensing.policies.rules import MAX_PRIORITY, Rule, parse_rules
from operators.base.links import change_url
from operators.policies.rule_rows import NEW_ROW, in_order, row_rule, rule_row
from operators.policies.rule_steps import apply_step
from tests import factories
from tests.admin.forms import form_values, submit
from tests.admin.policy_forms import ADD, confirm, html_of, press, save


def allow(name, **fields):
    return {"action": "allow", "conditions": {"requesterId": name}, "permissions": ["full_access"], **fields}


DENY_ALL = {"action": "deny", "conditions": {"default": True}}


def told(rules):
    return [rule["conditions"].get("requesterId", "all") for rule in rules]


def tried(rules):
    """Return the rules' subjects in evaluation order."""
    return told([rules[rule.index] for rule in sorted(parse_rules(rules), key=Rule.precedence)])


def shown(html):
    values = form_values(html)
    return [
        (values[f"rules-{number}-requesterId"][0] or "all", values[f"rules-{number}-priority"][0])
        for number in range(sum(name.endswith("-action") and name[6].isdigit() for name in values))
    ]


def test_allows_and_a_catch_all_deny_without_priorities_are_tried_as_they_stand(admin, api, account):
    fields = {"rules-3-action": "deny", "rules-3-default": "on"}
    for number, name in enumerate(("org_a", "org_b", "org_c")):
        fields |= {f"rules-{number}-action": "allow", f"rules-{number}-requesterId": name}
        fields |= {f"rules-{number}-permissions": "full_access"}
    reply = submit(admin, ADD, account=account.pk, name="Three", default_action="deny", _save="Save", **fields)
    assert reply.status_code == 302
    policy = Policy.objects.get()
    assert tried(policy.rules) == ["org_a", "org_b", "org_c", "all"]
    item = factories.content(account, policy_id=policy.pk)
    assert api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_b"}).body["allowed"] is True


def test_the_editor_shows_rules_in_the_order_in_which_they_are_tried(admin, account):
    policy = factories.policy(account, allow("org_a"), DENY_ALL, allow("org_c", priority=1))
    assert save(admin, policy).status_code == 302
    assert Policy.objects.get().version == 1
    policy = factories.policy(
        account, allow("org_a"), allow("org_b", priority=7), DENY_ALL, allow("org_c", priority=1)
    )
    assert shown(html_of(admin.get(change_url(policy)))) == [
        ("org_c", "1"),
        ("org_b", "7"),
        ("all", ""),
        ("org_a", ""),
    ]
    policy = factories.policy(account, allow("org_a", priority=1), allow("org_b", priority=2))
    assert shown(press(admin, policy, "check", **{"rules-0-priority": "9"})) == [("org_b", "2"), ("org_a", "9")]


def test_moving_a_rule_changes_what_is_tried_first(admin, account):
    policy = factories.policy(account, allow("org_a", priority=1), allow("org_b", priority=1), DENY_ALL)
    factories.content(account, policy_id=policy.pk)
    html = press(admin, policy, "up-1")
    assert [name for name, _ in shown(html)] == ["org_b", "org_a", "all"]
    asked = admin.post(change_url(policy), {**form_values(html), "_save": "Save"})
    confirm(admin, asked)
    assert tried(Policy.objects.get().rules) == ["org_b", "org_a", "all"]

    policy = factories.policy(account, DENY_ALL, allow("org_a", priority=1))
    factories.content(account, policy_id=policy.pk)
    html = html_of(save(admin, policy, **{"rules-0-message": "Welcome"}))
    assert html.count("<del>") == 1
    assert "Welcome" in html


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["allow", "deny"]),
        st.none() | st.integers(0, 12) | st.integers(MAX_PRIORITY - 3, MAX_PRIORITY),
    ),
    max_size=8,
)


def rows_of(drawn):
    return [
        rule_row(
            {"action": action, "conditions": {"requesterId": f"org_{index}"}}
            | ({} if priority is None else {"priority": priority})
        )
        for index, (action, priority) in enumerate(drawn)
    ]


@given(ROWS)
def test_rules_are_tried_in_the_order_of_the_editor(drawn):
    rules = [row_rule(row) for row in in_order(rows_of(drawn))]
    assert tried(rules) == told(rules)
    assert sorted(told(rules)) == sorted(told([row_rule(row) for row in rows_of(drawn)]))


@given(ROWS, st.data())
def test_a_rule_that_is_moved_is_tried_where_it_was_moved_to(drawn, data):
    rows = in_order(rows_of(drawn))
    if len(rows) < 2:
        return
    index = data.draw(st.integers(1, len(rows) - 1))
    moved = in_order(apply_step(rows, f"up-{index}"))
    expected = told([row_rule(row) for row in rows])
    expected[index - 1 : index + 1] = reversed(expected[index - 1 : index + 1])
    assert tried([row_rule(row) for row in moved]) == expected


def test_a_priority_that_is_no_number_leaves_the_rows_for_validation():
    for text in ("first", "-1", "²", "99999999"):
        rows = [{**NEW_ROW, "priority": "5"}, {**NEW_ROW, "priority": text}]
        assert in_order(rows) == rows, text
