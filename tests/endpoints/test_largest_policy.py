import pytest

from licensing.policies.models import Policy
from licensing.policies.rules import MAX_RULES_BYTES
from tests import factories, largest

TOO_MANY = largest.rules_of(MAX_RULES_BYTES + 4_096)
SAID = "The rules of a policy take at most 65,536 bytes of JSON"


@pytest.fixture
def stored(account):
    """A policy stored before the limit, eight times as large."""
    return factories.policy(account, *largest.rules_of(8 * MAX_RULES_BYTES))


def test_rules_of_at_most_64_kib_are_saved(api, account):
    reply = api.post("/v1/policies", {"name": "Larger", "rules": TOO_MANY})
    assert reply.status_and_param == (422, "rules")
    assert reply.error["message"].startswith(SAID)
    assert not Policy.objects.of(account.pk).exists()
    assert api.post("/v1/policies", {"name": "Largest", "rules": largest.rules()}).status == 201
    policy = factories.policy(account)
    assert api.patch(f"/v1/policies/{policy.pk}", {"rules": TOO_MANY}).error["param"] == "rules"
    item = factories.content(account, policy_id=factories.policy(account).pk)
    check = {"contentId": item.pk, "requester": "r", "dryRun": True, "policy": {"rules": TOO_MANY}}
    reply = api.post("/v1/access/check", check)
    assert reply.status_and_param == (422, "policy.rules")
    for path in ("/v1/policies/lint", f"/v1/policies/{item.policy_id}/simulate"):
        assert api.post(path, {"rules": TOO_MANY}).status_and_param == (422, "rules")
    rules = [{"action": "deny", "conditions": {"category": ["\x01" * 200 + f"{number:03d}" for number in range(60)]}}]
    assert api.post("/v1/policies", {"name": "Escaped", "rules": rules}).error["param"] == "rules"


def test_a_larger_policy_of_former_times_is_read_used_and_renamed(api, account, stored):
    item = factories.content(account, policy_id=stored.pk)
    assert len(api.get(f"/v1/policies/{stored.pk}").content) > 7 * MAX_RULES_BYTES
    assert api.post("/v1/access/check", {"contentId": item.pk, "requester": "00000007"})["allowed"] is False
    assert api.patch(f"/v1/policies/{stored.pk}", {"name": "Renamed"})["version"] == 2
    assert api.post(f"/v1/policies/{stored.pk}/simulate", {}).status == 200


def test_a_version_of_former_times_can_be_returned_to(api, stored):
    assert api.patch(f"/v1/policies/{stored.pk}", {"rules": [factories.DENY_ALL]}).status == 200
    assert api.post(f"/v1/policies/{stored.pk}/rollback", {"version": 1})["version"] == 3
