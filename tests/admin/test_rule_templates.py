import re
from datetime import UTC, datetime

from django.urls import reverse

from licensing.policies.lint import lint
from licensing.policies.models import Policy
from licensing.policies.rules import parse_rules
from operators.base.links import change_url
from operators.policies.rule_rows import in_order, row_rule, rule_row
from operators.policies.rule_steps import apply_step, templates
from tests import factories
from tests.admin.forms import form_values, submit
from tests.admin.policy_forms import ADD, html_of, press

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
TEMPLATES = {one.name: one for one in templates(NOW.date())}
WORDS = reverse("admin:licensing_policy_words")


def with_templates(*names, rows=()):
    for name in names:
        rows = apply_step(list(rows), f"template-{name}")
    return [row_rule(row) for row in in_order(list(rows))]


def told(rules):
    return [f"{rule['action']} {next(iter(rule['conditions']))}" for rule in rules]


def test_templates_add_up_to_one_policy_around_existing_rules():
    """Conditional denials come first, catch-all rules last, and no rule twice."""
    rules = with_templates("paywall", "metered", "embargo", "no_ai", "research", "paywall")
    assert told(rules) == [
        "deny permission",
        "deny tags",
        "allow hasValidLicense",
        "allow permission",
        "allow licenseType",
        "deny default",
    ]

    own = [rule_row(factories.ALLOW_LICENSED), rule_row(factories.DENY_ALL)]
    rules = with_templates("embargo", "research", rows=own)
    assert told(rules) == ["deny tags", "allow licenseType", "allow licenseType", "deny default"]
    assert rules[1]["conditions"] == factories.ALLOW_LICENSED["conditions"]
    for name in TEMPLATES:
        rules = parse_rules(with_templates(name))
        warned = {finding.code for finding in lint(rules, "deny", NOW) if finding.level == "warning"}
        assert warned <= ({"never_allows"} if name in ("embargo", "no_ai") else {"allow_without_license"})


def test_a_policy_is_begun_with_a_template_and_saved(admin, account):
    fields = {"account": account.pk, "name": "Paywall", "default_action": "deny"}
    values = form_values(html_of(submit(admin, ADD, _edit="template-paywall", **fields)))
    assert admin.post(ADD, {**values, "_save": "Save"}).status_code == 302
    assert told(Policy.objects.get().rules) == ["allow hasValidLicense", "deny default"]


def offered_first(html):
    """Return whether templates precede the rules, and whether they are collapsed below them."""
    before, _, after = html.partition("data-rules-list")
    return 'value="template-paywall"' in before, bool(
        re.search(r"<details[^>]*>\s*<summary>Add from a template", after)
    )


def test_templates_are_offered_first_without_rules_and_stay_open_in_use(admin, account):
    assert offered_first(html_of(admin.get(ADD))) == (True, False)
    policy = factories.policy(account)
    html = html_of(admin.get(change_url(policy)))
    assert offered_first(html) == (False, True)
    assert html.count('value="template-paywall"') == 1

    unfolded = re.compile(r"<details[^>]* open>\s*<summary>Add from a template")
    assert unfolded.search(press(admin, policy, "template-embargo"))
    assert not unfolded.search(press(admin, policy, "copy-0"))
    assert "rules-2-action" not in form_values(press(admin, policy, "template-none"))


def test_each_rule_is_a_sentence_and_is_duplicated_below_itself(admin, account):
    policy = factories.policy(account)
    html = html_of(admin.get(change_url(policy)))
    assert "<summary data-sentence>Allow if the licence is of type commercial or enterprise and" in html
    assert "priority 1</span>" in html
    assert "data-form open" not in html.partition("<template")[0]

    html = press(admin, policy, "add")
    assert html.partition("<template")[0].count("data-form open") == 1
    assert "A new rule: choose its conditions." in html

    values = form_values(press(admin, policy, "copy-0"))
    assert [values[f"rules-{number}-licenseType"] for number in range(2)] == [["commercial\r\nenterprise"]] * 2
    assert values["rules-1-original"] == [""]
    assert values["rules-2-action"] == ["deny"]


def words(client, rows):
    fields = {f"rules-{number}-{name}": text for number, row in enumerate(rows) for name, text in row.items()}
    reply = client.post(WORDS, {**fields, "default_action": "deny"})
    assert reply.status_code == 200
    return reply.json()["rules"]


def test_sentences_of_unsaved_rules_show_lint_and_errors_to_those_who_may_change_them(admin, staff, sign_in, account):
    everybody = {"action": "allow", "default": "on", "permissions": "full_access"}
    first, second = words(admin, [everybody, {"action": "deny", "requesterId": "org_a", "priority": "5"}])
    assert first["sentence"] == "Allow always. Grants full_access."
    assert (second["sentence"], second["place"]) == ("Deny if the customer is org_a.", "priority 5")
    assert any("never reached" in finding for finding in second["findings"]) or first["findings"]
    [one] = words(admin, [{"action": "deny", "ip": "10.0.0.1/8"}])
    assert "without host bits" in one["sentence"]
    assert sign_in(staff("licensing.view_content", accounts=[account])).post(WORDS, {}).status_code == 403
    assert sign_in(staff("licensing.view_policy", accounts=[account])).get(WORDS).status_code == 403
