import pytest

from licensing.policies import bulk
from licensing.policies.models import Policy, PolicyRevision
from tests import auditlog, factories
from tests.endpoints.bulk_rows import params, statuses

ALLOW = {"action": "allow", "conditions": {"licenseType": "commercial"}}
DENIED = {"requester": {"id": "anyone"}, "expect": {"allowed": False}}
ALLOWED = {"requester": {"id": "anyone"}, "expect": {"allowed": True}}
OWN = {"id", "created"}


def send(api, *rows, **options):
    return api.post("/v1/policies/bulk", {"items": list(rows)}, **options)


def without_own(policy):
    return {name: value for name, value in policy.items() if name not in OWN}


def test_a_row_creates_a_policy_as_a_post_does(api, other_api):
    row = {"externalId": "plan-1", "name": "A", "rules": [ALLOW], "tests": [DENIED], "metadata": {"a": 1, "b": None}}
    [made] = send(api, row)["data"]
    alone = other_api.post("/v1/policies", row).body
    assert without_own(made["policy"]) == without_own(alone)
    assert api.get(f"/v1/policies/{made['policy']['id']}").body == made["policy"]
    versions = api.get(f"/v1/policies/{made['policy']['id']}/versions")["data"]
    assert [one["version"] for one in versions] == [1]


@pytest.mark.parametrize("name", ["id", "externalId"])
def test_a_row_that_names_a_policy_changes_it_as_a_patch_does(api, name):
    held = api.post("/v1/policies", {"externalId": "plan-1", "name": "A", "metadata": {"a": 1}}).body
    reply = send(api, {name: held[name], "rules": [ALLOW], "metadata": {"b": 2}})
    assert statuses(reply) == [200]
    changed = api.get(f"/v1/policies/{held['id']}").body
    assert reply["data"][0]["policy"] == changed
    assert (changed["name"], changed["rules"], changed["version"]) == ("A", [ALLOW], 2)
    assert changed["metadata"] == {"a": 1, "b": 2}
    assert [one["version"] for one in api.get(f"/v1/policies/{held['id']}/versions")["data"]] == [2, 1]


def test_sent_again_the_rows_change_nothing(api):
    rows = [{"externalId": f"plan-{n}", "name": f"Plan {n}", "rules": [ALLOW], "tests": [DENIED]} for n in range(5)]
    first = send(api, *rows)
    entries = len(auditlog.entries())
    again = send(api, *rows)
    assert (statuses(first), statuses(again)) == ([201] * 5, [200] * 5)
    assert [one["policy"] for one in again["data"]] == [one["policy"] for one in first["data"]]
    assert (Policy.objects.count(), PolicyRevision.objects.count(), len(auditlog.entries())) == (5, 5, entries)


def test_a_change_holds_for_the_next_check(api, account):
    [made] = send(api, {"externalId": "plan-1", "name": "A", "defaultAction": "deny"})["data"]
    item = factories.content(account, policy_id=made["policy"]["id"])
    check = {"contentId": item.pk, "requester": "org"}
    assert api.post("/v1/access/check", check)["allowed"] is False
    send(api, {"externalId": "plan-1", "defaultAction": "allow"})
    assert api.post("/v1/access/check", check)["allowed"] is True


def test_the_rules_of_all_policies_of_a_body_have_a_bounded_size(api, monkeypatch):
    send(api, {"externalId": "a", "name": "A", "rules": [ALLOW]})
    monkeypatch.setattr(bulk, "MAX_CHARACTERS", 10)
    assert send(api, {"externalId": "a", "name": "B"}).status_and_param == (422, "items")
    assert statuses(send(api, {"name": "C"})) == [201]


@pytest.mark.parametrize(("row", "status", "param"), [
    ({}, 422, "name"), ({"externalId": "new"}, 422, "name"), ({"name": "A", "nonsense": 1}, 422, "nonsense"),
    ({"name": "A", "rules": [{"action": "allow"}]}, 422, "rules[0].conditions"), ({"id": "x"}, 422, "id"),
    ({"name": "A", "tests": [ALLOWED]}, 422, "tests[0]"), ({"id": "pol_" + "0" * 26, "name": "A"}, 422, "id"),
    ({"externalId": "before", "name": "Again"}, 409, "externalId"),
])  # fmt: skip
def test_a_rows_fault_is_its_own(api, row, status, param):
    reply = send(api, {"externalId": "before", "name": "Before"}, row, {"name": "After"})
    assert (statuses(reply), params(reply)) == ([201, status, 201], [None, param, None])
    assert set(Policy.objects.values_list("name", flat=True)) == {"Before", "After"}


def test_a_test_that_fails_keeps_the_policy_as_it_was(api):
    held = api.post("/v1/policies", {"externalId": "plan-1", "name": "A", "tests": [DENIED]}).body
    reply = send(api, {"externalId": "plan-1", "name": "B", "defaultAction": "allow"})
    assert (statuses(reply), params(reply)) == ([422], ["tests[0]"])
    assert api.get(f"/v1/policies/{held['id']}").body == held


def test_an_external_id_can_move_in_one_request_and_is_freed_by_deletion(api, other_api):
    theirs = other_api.post("/v1/policies", {"externalId": "a", "name": "Theirs"}).body
    one, other = (api.post("/v1/policies", {"externalId": name, "name": name}).body for name in ("a", "b"))
    refused = send(api, {"id": other["id"], "externalId": "a"}, {"id": theirs["id"], "name": "Mine"})
    assert (statuses(refused), params(refused)) == ([409, 422], ["externalId", "id"])
    assert one["id"] in refused["data"][0]["error"]["message"]
    assert other_api.get(f"/v1/policies/{theirs['id']}").body == theirs
    moved = send(api, {"id": one["id"], "externalId": "c"}, {"id": other["id"], "externalId": "a"})
    assert statuses(moved) == [200, 200]
    assert [row["policy"]["externalId"] for row in moved["data"]] == ["c", "a"]
    api.delete(f"/v1/policies/{one['id']}")
    assert statuses(send(api, {"externalId": "c", "name": "Next"}, {"id": one["id"], "name": "B"})) == [201, 422]
