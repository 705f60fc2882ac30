"""A policy's tests ("examples") in its form, in words or as JSON."""

from collections.abc import Sequence

import orjson
from django import forms
from django.http import QueryDict
from msgspec.structs import replace
from rest_framework.serializers import ValidationError as SerializerErrors

from kit.http.errors import ApiError
from kit.http.field_errors import first_error
from kit.http.parsing import DECODER, check_values
from kit.values.json_values import is_same
from licensing.policies.policy_tests import MAX_TESTS, PolicyTest, TestResult
from licensing.policies.serializers import PolicyTests, PolicyTestSerializer
from operators.base.fields import CompositeWidget
from operators.base.mixins import EDIT
from operators.policies.descriptions import describe_test, with_rule_names

FORGET_STEP = "forget"  # step that removes an example, as in `forget-3`
AS_JSON, AS_LIST = "examples-json", "examples-list"
FIELD_PREFIX = "tests-"

ExamplesValue = tuple[list[str], str | None]  # JSON of each example, or one text with all


class ExamplesWidget(CompositeWidget):
    template_name = "operators/policies/examples_widget.html"

    def __init__(self) -> None:
        super().__init__()
        self.results: Sequence[TestResult] = ()  # results of a test run, in the order of the examples

    def read_data(self, data: QueryDict) -> ExamplesValue:
        step = data.get(EDIT, "")
        if "tests-json" in data:
            return [], str(data["tests-json"])
        sent = [
            with_expectation(str(data[f"{FIELD_PREFIX}{number}"]), data.get(f"{FIELD_PREFIX}{number}-expect", ""))
            for number in range(MAX_TESTS)
            if f"{FIELD_PREFIX}{number}" in data and step != f"{FORGET_STEP}-{number}"
        ]
        if step == AS_JSON:
            return [], as_text(sent)
        return sent, None

    def get_context(
        self, name: str, value: ExamplesValue | list[PolicyTest] | None, attrs: dict[str, object] | None
    ) -> dict[str, object]:
        text = None
        if isinstance(value, tuple):
            sent, text = value
            tests = [parse_example(example) for example in sent]
        else:
            tests = list(value or ())
        context: dict[str, object] = super().get_context(name, None, attrs)
        results = self.results if len(self.results) == len(tests) else [None] * len(tests)
        return context | {
            "text": text,
            "examples": [
                {
                    "name": f"{FIELD_PREFIX}{number}",
                    "json": orjson.dumps(test).decode(),
                    "title": test.get("name") or f"Example {number}",
                    "sentence": describe_test(test),
                    "allowed": test["expect"]["allowed"],
                    "result": result and replace(result, decided=with_rule_names(result.decided)),
                }
                for number, (test, result) in enumerate(zip(tests, results, strict=True))
                if test is not None
            ],
        }


def parse_example(text: str) -> PolicyTest | None:
    """Parse an example for display; None if it is not one that the page sent."""
    try:
        test: PolicyTest = orjson.loads(text)
        describe_test(test)
    except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError):
        return None
    return test


def with_expectation(text: str, expected: str) -> str:
    """Return the example with the chosen outcome."""
    test = parse_example(text)
    if test is None or expected not in ("allowed", "denied") or test["expect"]["allowed"] is (expected == "allowed"):
        return text
    return orjson.dumps({**test, "expect": {"allowed": expected == "allowed"}}).decode()


def as_text(sent: Sequence[str]) -> str:
    return orjson.dumps(
        [test for text in sent if (test := parse_example(text)) is not None], option=orjson.OPT_INDENT_2
    ).decode()


class ExamplesField(forms.Field):
    """Valid policy tests as JSON of the API."""

    widget = ExamplesWidget

    def __init__(self) -> None:
        super().__init__(required=False, label="Examples")

    def clean(self, value: ExamplesValue) -> list[PolicyTest]:
        try:
            tests = read_examples(value)
            check_values(tests, "", 0)
            PolicyTests(child=PolicyTestSerializer(), max_length=MAX_TESTS).run_validation(tests)
        except ApiError as error:
            raise forms.ValidationError(error.message) from None
        except SerializerErrors as error:
            path, message = first_error(error.detail)
            raise forms.ValidationError(f"{path}: {message}" if path else message) from None
        except ValueError as error:
            raise forms.ValidationError(f"This is not JSON: {error}.") from None
        return tests

    def has_changed(self, initial: list[PolicyTest] | None, data: ExamplesValue | None) -> bool:
        try:
            return not is_same(read_examples(data or ([], None)), initial or [])
        except (ApiError, ValueError):
            return True


def read_examples(value: ExamplesValue) -> list[PolicyTest]:
    """Return the submitted examples. Raises ApiError or ValueError for invalid JSON."""
    each, text = value
    if text is None:
        return [DECODER.decode(example) for example in each]
    examples: list[PolicyTest] = DECODER.decode(text)
    return examples
