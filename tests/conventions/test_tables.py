from datetime import UTC, datetime

import pytest
from django.contrib import admin

from kit.http.errors import ApiError
from kit.openapi.error_examples import documented_errors, error_classes, error_types
from licensing.access.event_loop.metrics import OUTCOMES
from licensing.access.filters import DecisionFilters
from licensing.content.metadata import ATTRIBUTES, SCHEMA, AttributeKind
from licensing.content.models import Content
from licensing.content.serializers import MetadataField
from licensing.content.services import WRITTEN
from licensing.content.views import ContentFilters
from licensing.imports.mapping import parse_text
from licensing.imports.preview import TARGETS
from licensing.policies import schemas
from licensing.policies.condition_values import ConditionKind
from licensing.policies.conditions import TYPES
from licensing.policies.decision import Reason
from licensing.policies.describe_rule import describe_rule
from licensing.policies.facts import Facts
from licensing.policies.rules import parse_rule
from operators.policies.rule_rows import row_rule, rule_row
from operators.policies.rules_field import RulesWidget
from tests.documents import ROOT, TABLES, with_tables

# A value of each kind of attribute, and the cell of a CSV file that says the same.
VALUES = {
    AttributeKind.TEXT: ("x", "x"),
    AttributeKind.DAY: ("2026-01-31", "2026-01-31"),
    AttributeKind.TEXTS: (["x"], "x"),
    AttributeKind.INTEGER: (7, "7"),
}
WANTED = {
    ConditionKind.ALWAYS: True,
    ConditionKind.FLAG: False,
    ConditionKind.VALUES: "x",
    ConditionKind.NETWORKS: "203.0.113.0/24",
    ConditionKind.MOMENT: "2026-01-31",
}


class SpiedFacts:
    """Facts that note which of them are read."""

    def __init__(self) -> None:
        self.read: set[str] = set()
        self.facts = Facts(now=datetime(2026, 1, 1, tzinfo=UTC), requester_id="org_acme")

    def __getattr__(self, name):
        self.read.add(name)
        return getattr(self.facts, name)


@pytest.mark.parametrize("path", TABLES)
def test_the_tables_of_the_documents_are_those_of_the_code(path):
    text = (ROOT / path).read_text()
    assert text == with_tables(path, text), "Run: python -m tests.documents"


def test_every_public_error_is_documented_by_its_class():
    for error in list(error_classes()):
        assert documented_errors()[str(error.status_code)][error.code] is error
        assert error.type in error_types()
        assert error.example["message"]

    def all_errors(base):
        return {base}.union(*map(all_errors, base.__subclasses__()))

    undocumented = {error.__name__ for error in all_errors(ApiError) - set(error_classes())}
    assert undocumented == {"ApiError", "ClientGone", "KeyTaken", "UnknownTransferCoding", "UntrustedProxy"}
    assert all(documented_errors().values())


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda one: one.name)
def test_an_attribute_of_the_metadata_is_known_everywhere(attribute, api):
    value, cell = VALUES[attribute.kind]
    target = f"metadata.{attribute.name}"
    assert Content._meta.get_field(attribute.column)
    assert attribute.name in MetadataField.KNOWN
    assert attribute.name in SCHEMA["properties"]
    assert (target in ContentFilters.operands) is (attribute.kind != AttributeKind.TEXTS)
    assert TARGETS[target] == attribute.label
    assert attribute.column in WRITTEN
    assert parse_text(target, cell) == value
    assert attribute.column in admin.site._registry[Content].add_fieldsets[1][1]["fields"]
    made = api.post("/v1/content", {"title": "x", "metadata": {attribute.name: value}})
    assert made["metadata"] == {attribute.name: value}


def test_every_condition_is_known_everywhere():
    for condition in TYPES:
        wanted = (
            condition.choices[0] if condition.choices else WANTED.get(condition.kind, condition.schema.get("example"))
        )
        rule = {"action": "deny", "conditions": {condition.name: wanted}}
        [parsed] = parse_rule(rule, 0).conditions
        assert (parsed.name, parsed.value) == (condition.name, wanted)
        schema = schemas.CONDITIONS["properties"][condition.name]
        assert condition.schema.items() <= schema.items()
        assert schema["description"].lower() == f"{condition.holds_if}.".lower()
        assert condition.clause(wanted) in describe_rule(rule)
        assert row_rule({**rule_row(rule), "original": ""}) == rule
        shown = str(RulesWidget().row_context(0, rule_row(rule)))
        assert f"rules-0-{condition.name}'" in shown
        assert condition.label in shown
        seen = SpiedFacts()
        parsed.matches(seen)
        parsed.saw(seen)
        assert seen.read == ({condition.reads} - {""})
        tells_changes = bool(parsed.moments or parsed.next_change)
        assert tells_changes == (condition.reads == "now"), condition.name  # else `cacheFor` is too long
    assert len({one.position for one in TYPES}) == len(TYPES)


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_is_known_everywhere(reason):
    assert reason.words
    assert str(reason) in OUTCOMES
    assert DecisionFilters.operands["reason"].kind.parse(str(reason)) == reason
