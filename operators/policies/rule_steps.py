"""The effect of the rule editor's buttons on its rows. Pure except for an embargo's date."""

from collections.abc import Sequence

from django.utils import timezone

from licensing.policies.in_words import Rule
from operators.policies.rule_rows import MAX_ROWS, NEW_ROW, RuleRow, row_of, rule_of
from operators.policies.rule_templates import templates

TEMPLATE = "template"


def apply_step(rows: list[RuleRow], step: str) -> list[RuleRow]:
    """Return the rows after a step: `add`, `template-paywall`, `copy-3`, `remove-3`, `up-3` or `down-3`.

    New rows go before a final catch-all. Moved and copied rows lose their priority and get one by position
    (operators.policies.rule_order).
    """
    rows = list(rows)
    action, _, text = step.partition("-")
    if action == TEMPLATE:
        chosen = next((one for one in templates(timezone.now().date()) if one.name == text), None)
        return rows if chosen is None else with_rules(rows, chosen.rules)[:MAX_ROWS]
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
        to = index + (-1 if action == "up" else 1)
        if 0 <= to < len(rows):
            rows.insert(to, {**rows.pop(index), "priority": ""})
    return rows


def with_rules(rows: list[RuleRow], added: Sequence[Rule]) -> list[RuleRow]:
    """Add a template's rules: specific denials first, catch-alls last and only once.

    Skips rules equivalent to an existing row.
    """
    known = [says(rule_of(row)) for row in rows]
    new = [row_of(rule) for rule in added if says({**rule}) not in known]
    first = [row for row in new if row["action"] == "deny" and not row["default"]]
    middle = [row for row in new if row["action"] == "allow"]
    place = next((index for index, row in enumerate(rows) if row["default"]), None)
    last = [row for row in new if row["default"]] if place is None else []
    return [*first, *rows[:place], *middle, *(rows[place:] if place is not None else ()), *last]


def says(rule: dict[str, object]) -> tuple[object, ...]:
    """Return the parts of a rule that determine decisions."""
    return rule["action"], rule["conditions"], rule.get("permissions"), rule.get("rateLimit")
