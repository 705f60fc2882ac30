"""The form of a policy, with buttons that do not save."""

import orjson
from django import forms
from django.utils import timezone
from django.utils.functional import cached_property

from kit.values.faults import Fault
from licensing.policies.describe_rule import RuleJson
from licensing.policies.models import Policy
from licensing.policies.policy_tests import run_tests
from licensing.policies.rules import check_size, parse_rules
from operators.base.mixins import EDIT, ServiceForm
from operators.policies.descriptions import with_rule_names
from operators.policies.examples import AS_LIST, ExamplesField
from operators.policies.rule_rows import row_rule
from operators.policies.rules_field import RulesField, rows_shown

# Steps that only change the form.
EDITING = ("add", "copy", "remove", "up", "down", "template", "rows", "json", "forget", "examples")


class PolicyForm(ServiceForm):
    """A policy; `step` is what to do instead of saving: an editing step, `check`, `simulate`, `confirm`, or empty."""

    rules = RulesField()
    tests = ExamplesField()

    class Meta:
        model = Policy
        fields = ("account", "name", "description", "mode", "default_action", "rules", "tests")
        labels = {"default_action": "Otherwise"}
        help_texts = {
            "mode": "“observe” answers denials as allowed and records them; “disabled” allows everything.",
            "default_action": "What happens if no rule matches.",
        }
        widgets = {
            "name": forms.TextInput,
            "description": forms.Textarea(attrs={"rows": 2}),
            "mode": forms.Select,
            "default_action": forms.Select,
        }

    @cached_property
    def step(self) -> str:
        return str(self.data.get(EDIT, "")) if self.is_bound else ""

    def clean_mode(self) -> str:
        return str(self.cleaned_data["mode"] or self.instance.mode)

    def clean_description(self) -> str | None:
        description = (self.cleaned_data["description"] or "").replace("\r\n", "\n")
        if len(description) > 2000:
            raise forms.ValidationError("Must have at most 2,000 characters.")
        return description or None

    def clean_rules(self) -> list[RuleJson]:
        """Check the size of the rules unless they are unchanged, because older policies may exceed it."""
        rules: list[RuleJson] = self.cleaned_data["rules"]
        if "rules" in self.changed_data:
            try:
                check_size(rules)
            except Fault as fault:
                raise forms.ValidationError(fault.message) from None
        return rules

    def clean(self) -> dict[str, object]:
        """Run the examples like the service; they may fail in a draft that is not saved."""
        cleaned = super().clean() or self.cleaned_data
        if {"rules", "default_action", "tests"} <= cleaned.keys() and cleaned["tests"]:
            rules = parse_rules(cleaned["rules"])
            tests = cleaned["tests"]
            results = run_tests(rules, cleaned["default_action"], tests, timezone.now())
            self.fields["tests"].widget.results = results
            if not self.step:
                for result in results:
                    if not result.passed:
                        self.add_error("tests", with_rule_names(result.sentence))
        return cleaned

    def is_valid(self) -> bool:
        """Whether to save the form."""
        valid = super().is_valid()
        step = self.step.partition("-")[0]
        if step in EDITING:
            self.show_again(step)
            return False
        return valid and not self.step

    def show_again(self, step: str) -> None:
        """Show the values again without errors, as rows or as JSON."""
        cleaned = getattr(self, "cleaned_data", {})
        rules, tests = cleaned.get("rules"), cleaned.get("tests")
        rows, text = self["rules"].value()
        if step == "json" and text is None:
            written = [row_rule(row) for row in rows or ()]
            self.show("rules", (None, orjson.dumps(written, option=orjson.OPT_INDENT_2).decode()))
        elif step == "rows" and text is not None:
            if rules is None:
                return  # the JSON must be valid first; its errors are shown
            self.show("rules", (rows_shown(rules), None))
        elif self.step == AS_LIST:
            if tests is None:
                return  # the JSON must be valid first
            self.show("tests", ([orjson.dumps(test).decode() for test in tests], None))
        self._errors = forms.utils.ErrorDict()
        self.fields["rules"].widget.errors = {}

    def show(self, name: str, value: object) -> None:
        self.fields[name].widget.value_from_datadict = lambda *_: value
