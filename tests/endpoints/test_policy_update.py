import pytest

from tests import factories
from tests.endpoints.policy_fields import FULL, OUT_OF_BOUNDS


@pytest.fixture
def policy(api):
    return api.post("/v1/policies", FULL).body


def test_an_update_raises_the_version_and_sets_updated(api, policy, clock):
    path = f"/v1/policies/{policy['id']}"
    assert "updated" not in policy
    assert [api.patch(path, {"name": f"v{n}"})["version"] for n in range(2, 5)] == [2, 3, 4]
    clock.set("2030-01-01T00:00:00Z")
    reply = api.patch(path, {"name": "Other"})
    assert api.get(path)["updated"] == reply["updated"] == "2030-01-01T00:00:00.000000Z"
    assert reply["created"] == policy["created"]


def test_a_field_is_replaced_and_the_others_stay(api, policy):
    for version, (name, value) in enumerate([
        ("name", "Other"), ("description", "Changed."), ("description", None), ("rules", [factories.DENY_ALL]),
        ("rules", []), ("defaultAction", "allow"),
    ], 2):  # fmt: skip
        reply = api.patch(f"/v1/policies/{policy['id']}", {name: value})
        policy = {**policy, name: value, "version": version, "updated": reply["updated"]}
        assert (reply.status, reply.body) == (200, policy)


def test_a_condition_on_true_in_place_of_1_is_another_rule(api, policy):
    def rules(value):
        return {"rules": [{"action": "allow", "conditions": {"attributes": {"staff": value}}}]}

    api.patch(f"/v1/policies/{policy['id']}", rules(1))
    changed = api.patch(f"/v1/policies/{policy['id']}", rules(True))
    stored = api.get(f"/v1/policies/{policy['id']}")
    assert stored.body == changed.body
    assert stored["rules"][0]["conditions"]["attributes"] == {"staff": True}
    assert stored["version"] == 3


def test_a_refused_update_changes_nothing(api, policy):
    path = f"/v1/policies/{policy['id']}"
    for name, value, param in [("version", 17, "version"), ("name", None, "name"), *OUT_OF_BOUNDS]:
        assert api.patch(path, {"description": "Lost", name: value}).status_and_param == (422, param)
    assert api.get(path).body == policy
