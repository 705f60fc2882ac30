import json

import pytest
from django.core.management import CommandError

from licensing.policies.models import Policy
from tests import factories
from tests.commands.calling import ended
from tests.factories import ALLOW_LICENSED, DENY_ALL, LICENSED_REQUESTER

READS = {"name": "Customers read", "requester": LICENSED_REQUESTER, "expect": {"allowed": True}}


@pytest.fixture
def policy(account):
    requester = {name: value for name, value in LICENSED_REQUESTER.items() if name != "name"}
    return factories.policy(account, name="Commercial use", tests=[{**READS, "requester": requester}])


def run(*options):
    """Return the exit status and the output."""
    return ended("test_policies", *options)[:2]


def broken(policy):
    """A policy whose stored rules no longer pass its tests, as after an upgrade."""
    Policy.objects.filter(pk=policy.pk).update(rules=[DENY_ALL])
    return policy


def test_passed_tests_are_reported_in_words_and_in_json(policy):
    status, told = run()
    assert status == 0
    assert f"ok      {policy.pk}  Commercial use (version 1): 1 of 1 pass" in told
    assert told.endswith("1 test of 1 policy: all passed.\n")

    status, told = run("--json")
    assert (status, json.loads(told)["failed"]) == (0, 0)
    broken(policy)
    status, told = run("--json")
    answer = json.loads(told)
    assert (status, answer["object"], answer["policies"], answer["tests"]) == (1, "policy_test_run", 1, 1)
    [failure] = answer["failures"]
    assert (failure["policyId"], failure["index"], failure["name"]) == (policy.pk, 0, "Customers read")
    assert (failure["expected"], failure["decided"]) == ("allowed", "denied (policy_denied) by rules[0]")


def test_failed_tests_are_reported_unless_the_policy_is_deleted(account, policy):
    broken(policy)
    factories.policy(account)
    status, told = run()
    assert status == 1
    assert f"FAILED  {policy.pk}  Commercial use (version 1): 0 of 1 pass" in told
    assert "  “Customers read”: expected to be allowed, but it is denied (policy_denied) by rules[0]." in told
    assert "1 failed" in told
    broken(policy)
    Policy.objects.filter(pk=policy.pk).update(deleted_at="2026-01-01T00:00:00Z")
    assert run()[0] == 0


def test_one_account_or_one_policy_can_be_asked_for(account, other_account, policy):
    broken(policy)
    other = factories.policy(other_account, tests=[{"requester": {"id": "x"}, "expect": {"allowed": False}}])
    assert run("--account", other_account.pk)[0] == 0
    assert run("--policy", other.pk)[0] == 0
    assert run("--account", account.pk)[0] == 1
    with pytest.raises(CommandError, match="There is no account"):
        run("--account", "acc_none")


def test_without_any_test_it_says_so(account):
    factories.policy(account, ALLOW_LICENSED)
    assert run() == (0, "No policy has tests.\n")
