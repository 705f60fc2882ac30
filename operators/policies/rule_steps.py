"""The effect of the rule editor's buttons on its rows, and templates of rules. Pure except for an embargo's date."""

from collections.abc import Sequence
from datetime import date, timedelta

from django.utils import timezone
from msgspec import Struct

from licensing.policies.describe_rule import RuleJson
from operators.policies.rule_rows import MAX_ROWS, NEW_ROW, RuleRow, row_rule, rule_row

EMBARGO_PERIOD = timedelta(days=30)
DENY_ALL: RuleJson = {"action": "deny", "conditions": {"default": True}, "message": "A licence is required."}
ALLOW_LICENSED: RuleJson = {"action": "allow", "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]}
TEMPLATE_STEP = "template"


class RuleTemplate(Struct, frozen=True):
    """A template; `rules` are in evaluation order."""

    name: str
    title: str
    description: str
    rules: tuple[RuleJson, ...]


def templates(today: date) -> tuple[RuleTemplate, ...]:
    """Return the templates; an embargo ends a month after `today` by default."""
    end = (today + EMBARGO_PERIOD).isoformat()
    return (
        RuleTemplate("paywall", "Paywall", "Only customers with a valid licence.", (ALLOW_LICENSED, DENY_ALL)),
        RuleTemplate(
            "metered",
            "Metered preview",
            "Licence holders read everything; others get five previews a month.",
            (
                ALLOW_LICENSED,
                {
                    "action": "allow",
                    "conditions": {"permission": "preview"},
                    "permissions": ["preview"],
                    "rateLimit": {"requests": 5, "period": "month"},
                },
                DENY_ALL,
            ),
        ),
        RuleTemplate(
            "embargo",
            "Embargo",
            "Items tagged embargo are denied until a date.",
            (
                {
                    "action": "deny",
                    "conditions": {"tags": "embargo", "before": end},
                    "message": f"Under embargo until {end}.",
                },
            ),
        ),
        RuleTemplate(
            "research",
            "Research only",
            "Valid research licences, only for research.",
            (
                {
                    "action": "allow",
                    "conditions": {"licenseType": "research", "hasValidLicense": True},
                    "permissions": ["read", "research"],
                },
                DENY_ALL,
            ),
        ),
        RuleTemplate(
            "no_ai",
            "No AI training",
            "AI training is denied, whatever the licence.",
            (
                {
                    "action": "deny",
                    "conditions": {"permission": "ai_training"},
                    "message": "It may not be used to train AI.",
                },
            ),
        ),
    )


def apply_step(rows: list[RuleRow], step: str) -> list[RuleRow]:
    """Return the rows after a step: `add`, `template-paywall`, `copy-3`, `remove-3`, `up-3` or `down-3`.

    New rows go before a final catch-all. Moved and copied rows lose their priority and get one by position
    (operators.policies.rule_rows).
    """
    rows = list(rows)
    action, _, text = step.partition("-")
    if action == TEMPLATE_STEP:
        chosen = next((template for template in templates(timezone.now().date()) if template.name == text), None)
        if chosen is None:
            return rows
        return with_rules(rows, chosen.rules)[:MAX_ROWS]
    if step == "add" and len(rows) < MAX_ROWS:
        catch_all = bool(rows and rows[-1]["default"])
        rows.insert(len(rows) - catch_all, dict(NEW_ROW))
        return rows
    index = int(text) if text.isdecimal() and len(text) < 5 else -1
    if not 0 <= index < len(rows):
        return rows
    if action == "remove":
        del rows[index]
    elif action == "copy" and len(rows) < MAX_ROWS:
        rows.insert(index + 1, {**rows[index], "priority": "", "original": ""})
    elif action in ("up", "down"):
        to = index - 1 if action == "up" else index + 1
        if 0 <= to < len(rows):
            rows.insert(to, {**rows.pop(index), "priority": ""})
    return rows


def with_rules(rows: list[RuleRow], added: Sequence[RuleJson]) -> list[RuleRow]:
    """Add a template's rules: specific denials first, catch-alls last and only once.

    Skips rules equivalent to an existing row.
    """
    sentences = [decision_parts(row_rule(row)) for row in rows]
    new = [rule_row(rule) for rule in added if decision_parts({**rule}) not in sentences]
    first = [row for row in new if row["action"] == "deny" and not row["default"]]
    middle = [row for row in new if row["action"] == "allow"]
    default_index = next((index for index, row in enumerate(rows) if row["default"]), None)
    if default_index is None:
        return first + rows + middle + [row for row in new if row["default"]]
    return first + rows[:default_index] + middle + rows[default_index:]


def decision_parts(rule: dict[str, object]) -> tuple[object, ...]:
    """Return the parts of a rule that determine decisions."""
    return rule["action"], rule["conditions"], rule.get("permissions"), rule.get("rateLimit")
