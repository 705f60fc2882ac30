"""The form of a policy: its rules as rows or as JSON, and what is to be done with them beside being saved."""

import json
from typing import Any

import orjson
from django import forms
from unfold.widgets import (
    BASE_INPUT_CLASSES,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from kit.http.errors import ApiError
from kit.http.parsing import DECODER, check_values
from licensing.policies.condition_values import RuleError
from licensing.policies.conditions import CONDITIONS, Kind, names_of
from licensing.policies.models import Policy
from licensing.policies.rules import ACTIONS, MAX_RULES, PERIODS, check_size, parse_rule, parse_rules
from operators.policies.rule_rows import FLAGS, MOMENTS, NEW_ROW, RuleRow, edited, field_at, row_of, rows_of, rule_of

# Without those that mark every field within a field that has an error.
CLASSES = " ".join(name for name in BASE_INPUT_CLASSES if ".errors" not in name)
PROMINENT = "licenseType"
CHOICES = names_of(Kind.CHOICES)
FURTHER = [name for name in names_of(Kind.VALUES, Kind.NETWORKS) if name != PROMINENT]  # out of sight until used
EDIT = "_edit"  # the name of the buttons that do not save; their values say what they do instead
EDITING = ("add", "remove", "up", "down", "rows", "json", "back")  # steps that only change what the form shows


class RulesWidget(forms.Widget):
    """Rows of fields, or a text area with JSON. Its value is (rows, None) or (None, text)."""

    template_name = "operators/policies/rules_widget.html"

    class Media:
        css = {"all": ["operators/policy.css"]}
        js = ["operators/policy.js"]

    def __init__(self) -> None:
        super().__init__()
        self.errors: dict[tuple[int | None, str], str] = {}

    def value_from_datadict(self, data: Any, files: Any, name: str) -> Any:
        if "rules-json" in data:
            return None, data["rules-json"]
        return edited(rows_of(data), data.get(EDIT, "")), None

    def value_omitted_from_data(self, data: Any, files: Any, name: str) -> bool:
        return False

    def id_for_label(self, id_: str) -> str:
        return ""

    def format_value(self, value: Any) -> Any:
        return value

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        rows, text = value if isinstance(value, tuple) else ([row_of(rule) for rule in value or []], None)
        context = super().get_context(name, None, attrs)
        context |= {
            "text": text,
            "rows": None if rows is None else [self.shown(index, row) for index, row in enumerate(rows)],
            "empty": self.shown("__n__", NEW_ROW),
            "classes": CLASSES,
            "most": MAX_RULES,
        }
        return context

    def shown(self, index: int | str, row: RuleRow) -> dict[str, Any]:
        def field(name: str, label: str, **more: Any) -> dict[str, Any]:
            error = self.errors.get((index, name)) if isinstance(index, int) else None
            return {
                "name": f"rules-{index}-{name}",
                "label": label,
                "value": row[name],
                "height": row[name].count("\n") + 1,
                "error": error,
                **more,
            }

        def condition(name: str, **more: Any) -> dict[str, Any]:
            known = CONDITIONS[name]
            return field(name, known.label, hint=known.hint, **more)

        return {
            "index": index,
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
                for name in (*CHOICES, *FURTHER, *MOMENTS)
            ),
            "moments": [condition(name) for name in MOMENTS],
            "permissions": field("permissions", "Grants these permissions", hint="full_access"),
            "requests": field("requests", "Requests"),
            "period": field("period", "for each requester, a", choices=PERIODS),
            "message": field("message", "Message"),
            "original": field("original", ""),
        }


class RulesField(forms.Field):
    """The rules as JSON of the API, valid. Errors are kept by the widget, for the field of the row they are about."""

    widget = RulesWidget

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)

    def clean(self, value: Any) -> list[dict[str, Any]]:
        rows, text = value
        rules = [rule_of(row) for row in rows] if text is None else self.read(text)
        try:
            check_values(rules, "", 0)
        except ApiError as error:
            raise forms.ValidationError(error.message) from None
        errors: dict[tuple[int | None, str], str] = {}
        messages = []
        for index, rule in enumerate(rules if isinstance(rules, list) else []):
            try:
                parse_rule(rule, index)
            except RuleError as error:
                row, name = field_at(error.path)
                errors[row, name] = error.message
                messages.append(f"rules{error.path}: {error.message}")
        if not messages:
            try:
                parse_rules(rules)
            except RuleError as error:
                messages = [error.message]
        self.widget.errors = errors
        if messages:
            raise forms.ValidationError(messages)
        return rules

    def read(self, text: str) -> Any:
        """As strictly as the API reads a body."""
        try:
            return DECODER.decode(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise forms.ValidationError(f"This is not JSON: {error}.") from None
        except ApiError as error:
            raise forms.ValidationError(error.message) from None

    def has_changed(self, initial: Any, data: Any) -> bool:
        rows, text = data
        try:
            return initial != ([rule_of(row) for row in rows] if text is None else orjson.loads(text))
        except orjson.JSONDecodeError:
            return True


class PolicyForm(forms.ModelForm):
    """`asked` is what is to be done instead of saving: a step of editing, `check`, `simulate`, `confirm`; or empty."""

    rules = RulesField()

    class Meta:
        model = Policy
        fields = ("account", "name", "description", "default_action", "rules")
        labels = {"default_action": "Otherwise"}
        help_texts = {"default_action": "What happens if no rule matches."}
        widgets = {
            "name": UnfoldAdminTextInputWidget,
            "description": UnfoldAdminTextareaWidget(attrs={"rows": 2}),
            "default_action": UnfoldAdminSelectWidget,
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.asked = self.data.get(EDIT, "") if self.is_bound else ""

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if not name.strip():
            raise forms.ValidationError("Must not be blank.")
        return name

    def clean_description(self) -> str | None:
        description = (self.cleaned_data["description"] or "").replace("\r\n", "\n")
        if len(description) > 2000:
            raise forms.ValidationError("Must have at most 2,000 characters.")
        return description or None

    def clean_rules(self) -> Any:
        """Rules that were stored before there was a bound on their size can stay as they are."""
        rules = self.cleaned_data["rules"]
        if rules != self.initial.get("rules"):
            try:
                check_size(rules)
            except RuleError as error:
                raise forms.ValidationError(error.message) from None
        return rules

    def is_valid(self) -> bool:
        """Whether it is to be saved as it is."""
        valid = super().is_valid()
        step = self.asked.partition("-")[0]
        if step in EDITING:
            self.show_again(step)
            return False
        return valid and not self.asked

    def show_again(self, step: str) -> None:
        """Shows what was entered without complaining of what is not finished, as rows or as JSON."""
        rules = self.cleaned_data.get("rules") if hasattr(self, "cleaned_data") else None
        rows, text = self["rules"].value()
        if step == "json" and text is None:
            written = [rule_of(row) for row in rows]
            self.set_rules(None, orjson.dumps(written, option=orjson.OPT_INDENT_2).decode())
        elif step in ("rows", "back") and text is not None:
            if rules is None and step == "rows":
                return  # the JSON has to be right first: its errors are shown
            if rules is not None:
                self.set_rules([row_of(rule) for rule in rules], None)
        self._errors = forms.utils.ErrorDict()
        self.fields["rules"].widget.errors = {}

    def set_rules(self, rows: list[RuleRow] | None, text: str | None) -> None:
        self.fields["rules"].widget.value_from_datadict = lambda *_: (rows, text)
