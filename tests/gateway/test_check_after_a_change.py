import pytest

from accounts.plans import epochs
from licensing.access.event_loop import gateway
from licensing.policies import rules
from tests import factories

ALLOW, DENY = ({"action": action, "conditions": {"requesterId": ["org_acme"]}} for action in ("allow", "deny"))
TESTS = [{"requester": {"id": "org_acme"}, "expect": {"allowed": False}}]


@pytest.fixture
def calls(application, monkeypatch):
    """The number of rules that were parsed, and of decisions that were made."""
    counts = {"parsed": 0, "decided": 0}
    parse, decide = rules.parse_rule, gateway.decide_checks

    def parse_rule(value, index):
        counts["parsed"] += 1
        return parse(value, index)

    def decide_checks(*arguments):
        counts["decided"] += 1
        return decide(*arguments)

    monkeypatch.setattr(rules, "parse_rule", parse_rule)
    monkeypatch.setattr(gateway, "decide_checks", decide_checks)
    return counts


def test_rules_are_parsed_once_and_the_next_check_decides_once(
    application, api, account, calls, monkeypatch, django_capture_on_commit_callbacks
):
    monkeypatch.setattr(epochs, "listeners", [application.gateway.snapshot.hear])
    policy = factories.policy(account, ALLOW)
    check = {"contentId": factories.content(account, policy_id=policy.pk).pk, "requester": "org_acme"}
    assert api.post("/v1/access/check", check)["allowed"]

    before = dict(calls)
    with django_capture_on_commit_callbacks(execute=True):
        changed = api.patch(f"/v1/policies/{policy.pk}", {"rules": [DENY], "tests": TESTS})
    assert changed.status == 200
    assert not api.post("/v1/access/check", check)["allowed"]
    assert {name: calls[name] - before[name] for name in calls} == {"parsed": 1, "decided": 1}
