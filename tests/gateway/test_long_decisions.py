from datetime import UTC, datetime, timedelta
from unittest.mock import Mock

import pytest

from licensing.access.event_loop import gateway
from licensing.access.event_loop.gateway import MOST_COMPARISONS
from licensing.policies.matching.schedules import CurrentSchedule, parse_schedule
from tests import factories

CHECKS = 100
NIGHT = {"days": ["fri", "sun"], "from": "22:00", "to": "06:00", "timeZone": "Europe/Berlin"}


@pytest.fixture
def decide(monkeypatch):
    """A mock that decides the checks of the event loop."""
    decide = Mock(wraps=gateway.decide_checks)
    monkeypatch.setattr(gateway, "decide_checks", decide)
    return decide


def policy_of(account, rules, bounds):
    """Create a policy whose rules all look at as many attributes, of which only the last does not fit."""
    fitting = {f"a{number}": {"gte": 1} for number in range(bounds - 1)}
    rule = {**factories.ALLOW_ALL, "conditions": {"attributes": {**fitting, "z": {"gte": 9}}}}
    return factories.policy(account, *({**rule, "message": str(number)} for number in range(rules)))


@pytest.mark.parametrize(("rules", "bounds", "is_on_the_loop"), [(100, 16, False), (10, 2, True)])
def test_a_batch_with_many_comparisons_is_decided_in_a_thread(account, api, decide, rules, bounds, is_on_the_loop):
    item = factories.content(account, policy_id=policy_of(account, rules, bounds).pk).pk
    assert (rules * bounds * CHECKS > MOST_COMPARISONS) is not is_on_the_loop
    known = {f"a{number}": 5 for number in range(bounds - 1)}
    checks = [
        {"contentId": item, "requester": {"id": f"org_{number}", "attributes": {**known, "z": 1 if number else 9}}}
        for number in range(CHECKS)
    ]
    reply = api.post("/v1/access/check/batch", {"checks": checks})
    assert [one["allowed"] for one in reply["data"]] == [True] + [False] * (CHECKS - 1)
    assert [len(call.args[0]) for call in decide.call_args_list] == ([CHECKS] if is_on_the_loop else [])


def test_a_single_check_of_the_same_policy_is_decided_at_once(account, api, decide):
    item = factories.content(account, policy_id=policy_of(account, 100, 16).pk).pk
    assert api.post("/v1/access/check", {"contentId": item, "requester": "org_a"})["allowed"] is False
    decide.assert_called_once()


def test_a_schedule_is_computed_once_until_it_changes(monkeypatch):
    schedule = parse_schedule(NIGHT, "")
    current, computed, original = CurrentSchedule(schedule), [], type(schedule).next_change
    monkeypatch.setattr(type(schedule), "next_change", lambda *of: computed.append(of) or original(*of))
    friday = datetime(2026, 11, 27, 23, 30, tzinfo=UTC)
    for minutes in range(0, 10 * 60, 10):
        moment = friday + timedelta(minutes=minutes)
        assert current.next_change(moment) == original(schedule, moment)
        assert current.holds(moment) is schedule.holds(moment)
    assert len(computed) == 2
    assert current.next_change(friday) == original(schedule, friday)
    assert current.holds(friday - timedelta(days=2)) is schedule.holds(friday - timedelta(days=2))
