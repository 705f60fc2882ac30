"""Whether a policy's decisions depend on the address or the time, and the moments at which they change."""

from datetime import UTC, datetime
from typing import Any

from licensing.policies.compiled import CompiledPolicy
from licensing.policies.rules import parse_rules

MONDAYS = {"days": "mon", "timeZone": "UTC"}
JUNE, JULY = (datetime(2026, month, 1, tzinfo=UTC) for month in (6, 7))


def policy(*conditions: dict[str, Any]) -> CompiledPolicy:
    rules = parse_rules([{"action": "deny", "conditions": one} for one in conditions])
    return CompiledPolicy.of(None, None, "deny", rules)


def test_a_policy_knows_whether_it_reads_the_address_or_the_time():
    for conditions, reads_address, looks_at_the_time in [
        ({"default": True}, False, False), ({"tags": "a"}, False, False), ({"ip": "203.0.113.0/24"}, True, False),
        ({"before": "2026-06-01"}, False, True), ({"after": "2026-06-01"}, False, True),
        ({"schedule": MONDAYS}, False, True),
    ]:  # fmt: skip
        known = policy({"tags": "b"}, conditions)
        assert (known.reads_address, known.looks_at_the_time) == (reads_address, looks_at_the_time)
    assert policy({"before": "2026-07-01"}, {"after": "2026-06-01", "tags": "a"}).boundaries == (JUNE, JULY)
