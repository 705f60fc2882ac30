"""Whether a policy's decisions depend on the address or the time, and the moments at which they change."""

from datetime import UTC, datetime
from typing import Any

import pytest

from licensing.policies.compiled import CompiledPolicy
from licensing.policies.rules import parse_rules

MONDAYS = {"days": "mon", "timeZone": "UTC"}
JUNE, JULY = (datetime(2026, month, 1, tzinfo=UTC) for month in (6, 7))


def policy(*conditions: dict[str, Any]) -> CompiledPolicy:
    rules = parse_rules([{"action": "deny", "conditions": one} for one in conditions])
    return CompiledPolicy.of(None, None, "deny", rules)


@pytest.mark.parametrize(
    ("conditions", "reads_address"),
    [({"default": True}, False), ({"tags": "a"}, False), ({"ip": "203.0.113.0/24"}, True)],
)
def test_it_reads_the_address_if_a_condition_is_about_it(conditions: dict[str, Any], reads_address: bool) -> None:
    assert policy({"tags": "b"}, conditions).reads_address is reads_address


@pytest.mark.parametrize(
    ("conditions", "looks_at_the_time"),
    [
        ({"tags": "a"}, False),
        ({"before": "2026-06-01"}, True),
        ({"after": "2026-06-01"}, True),
        ({"schedule": MONDAYS}, True),
    ],
)
def test_it_looks_at_the_time_if_a_condition_does(conditions: dict[str, Any], looks_at_the_time: bool) -> None:
    assert policy({"tags": "b"}, conditions).looks_at_the_time is looks_at_the_time


def test_its_boundaries_are_the_moments_of_all_rules_in_order() -> None:
    assert policy({"before": "2026-07-01"}, {"after": "2026-06-01", "tags": "a"}).boundaries == (JUNE, JULY)
