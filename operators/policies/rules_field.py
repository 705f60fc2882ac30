"""A policy's rules in its form, as rows or JSON."""

import json
from collections.abc import Sequence
from typing import Any

import orjson
from django import forms
from django.http import QueryDict
from django.utils import timezone

from kit.http.errors import ApiError
from kit.http.parsing import DECODER, check_values
from kit.values.faults import Fault
from kit.values.json_values import is_same
from licensing.policies.condition_values import ConditionKind
from licensing.policies.conditions import CONDITIONS, condition_names
from licensing.policies.describe_rule import RuleJson
from licensing.policies.rules import ACTIONS, MAX_RULES, PERIODS, VISITOR, parse_rules
from operators.base.fields import CompositeWidget
from operators.base.mixins import EDIT
from operators.policies.descriptions import describe_row
from operators.policies.rule_rows import (
    FLAGS,
    MOMENTS,
    NEW_ROW,
    OTHERS,
    RuleRow,
    field_at,
    in_evaluation_order,
    in_order,
    message_in_form,
    row_rule,
    rule_row,
    submitted_rows,
)
from operators.policies.rule_steps import TEMPLATE_STEP, apply_step, templates

PROMINENT = "licenseType"
CHOICES = condition_names(ConditionKind.CHOICES)
# Collapsed until used.
FURTHER = [name for name in condition_names(ConditionKind.VALUES, ConditionKind.NETWORKS) if name != PROMINENT]


RulesValue = tuple[list[RuleRow] | None, str | None]  # rows, or JSON


def rows_shown(rules: Sequence[RuleJson]) -> list[RuleRow]:
    """Return the rows of valid rules in evaluation order."""
    return [rule_row(rule) for _, rule in in_evaluation_order(rules)]


class RulesWidget(CompositeWidget):
    """Rows of fields, or a text area with JSON."""

    template_name = "operators/policies/rules_widget.html"

    class Media:
        css = {"all": ["operators/policy.css"]}
        js = ["operators/policy.js"]

    def __init__(self) -> None:
        super().__init__()
        self.errors: dict[tuple[int | None, str], str] = {}
        self.uses_templates = False  # set if the last step was a template, because another may follow

    def read_data(self, data: QueryDict) -> RulesValue:
        if "rules-json" in data:
            return None, str(data["rules-json"])
        step = data.get(EDIT, "")
        self.uses_templates = step.startswith(TEMPLATE_STEP)
        return in_order(apply_step(submitted_rows(data), step)), None

    def get_context(
        self, name: str, value: RulesValue | list[RuleJson] | None, attrs: dict[str, object] | None
    ) -> dict[str, object]:
        rows, text = value if isinstance(value, tuple) else (rows_shown(value or []), None)
        context: dict[str, object] = super().get_context(name, None, attrs)
        context |= {
            "text": text,
            "rows": None if rows is None else [self.row_context(index, row) for index, row in enumerate(rows)],
            "empty": self.row_context("__n__", NEW_ROW),
            "most": MAX_RULES,
            "templates": templates(timezone.now().date()),
            "uses_templates": self.uses_templates,
            "is_sent": isinstance(value, tuple),
        }
        return context

    def row_context(self, index: int | str, row: RuleRow) -> dict[str, object]:
        def field(name: str, label: str, **more: object) -> dict[str, object]:
            error = self.errors.get((index, name)) if isinstance(index, int) else None
            return {
                "name": f"rules-{index}-{name}",
                "label": label,
                "value": row[name],
                "height": row[name].count("\n") + 1,
                "error": error,
                **more,
            }

        def condition(name: str, **more: object) -> dict[str, object]:
            condition = CONDITIONS[name]
            return field(name, condition.label, hint=condition.hint, **more)

        description = describe_row(row)
        return {
            "index": index,
            "number": index + 1 if isinstance(index, int) else "",
            "sentence": description.sentence,
            "place": description.place,
            "open": not description.is_complete or any(error_index == index for error_index, _ in self.errors),
            "error": self.errors.get((index, "")) if isinstance(index, int) else None,
            "action": field("action", "Action", choices=ACTIONS),
            "priority": field("priority", "Priority"),
            "default": condition("default"),
            "flags": [
                condition(name, choices=(("", "either"), ("yes", "yes"), ("no", "not known"))) for name in FLAGS
            ],
            "prominent": condition(PROMINENT),
            "lists": [condition(name) for name in FURTHER],
            "choices": [
                condition(name, choices=CONDITIONS[name].choices, chosen=row[name].split()) for name in CHOICES
            ],
            "further": any(
                row[name] or (isinstance(index, int) and (index, name) in self.errors)
                for name in (*CHOICES, *FURTHER, *MOMENTS, *OTHERS)
            ),
            "moments": [condition(name) for name in MOMENTS],
            "others": [condition(name) for name in OTHERS],
            "permissions": field("permissions", "Grants these permissions", hint="full_access"),
            "requests": field("requests", "Requests"),
            "period": field("period", "a", choices=PERIODS),
            "per": field("per", "for each", choices=(("", "customer"), (VISITOR, VISITOR))),
            "amount": field("amount", "Price per access without a licence"),
            "currency": field("currency", "in"),
            "message": field("message", "Message"),
            "original": field("original", ""),
        }


class RulesField(forms.Field):
    """Valid rules as JSON of the API. The widget shows each error at its field."""

    widget = RulesWidget

    def __init__(self) -> None:
        super().__init__(required=False)

    def clean(self, value: RulesValue) -> list[RuleJson]:
        rules = self.given(value)
        try:
            check_values(rules, "", 0)
        except ApiError as error:
            raise forms.ValidationError(error.message) from None
        errors: dict[tuple[int | None, str], str] = {}
        messages = []
        try:
            parse_rules(rules)
        except Fault as fault:
            for part in fault.all():
                message = message_in_form(part, rules)
                errors.setdefault(field_at(part.path), message)
                messages.append(f"rules{part.path}: {message}" if part.path else message)
        self.widget.errors = errors
        if messages:
            raise forms.ValidationError(messages)
        return rules

    def given(self, value: RulesValue) -> Any:
        """Return the entered rules; JSON is parsed as strictly as API bodies."""
        rows, text = value
        if text is None:
            return [row_rule(row) for row in rows or ()]
        try:
            return DECODER.decode(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise forms.ValidationError(f"This is not JSON: {error}.") from None
        except ApiError as error:
            raise forms.ValidationError(error.message) from None

    def has_changed(self, initial: Sequence[RuleJson] | None, data: RulesValue | None) -> bool:
        rows, text = data or (None, None)
        initial_rules = [rule for _, rule in in_evaluation_order(initial or [])]
        try:
            if text is None:
                submitted = [row_rule(row) for row in rows or ()]
            else:
                submitted = orjson.loads(text)
        except orjson.JSONDecodeError:
            return True
        return not any(is_same(submitted, rules) for rules in (initial, initial_rules))
