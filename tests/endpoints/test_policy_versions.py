import pytest

from tests import factories
from tests.endpoints.policy_fields import FULL


@pytest.fixture
def policy(api):
    """A policy at version 3."""
    first = api.post("/v1/policies", FULL)
    api.patch(f"/v1/policies/{first['id']}", {"name": "Second", "rules": []})
    return api.patch(f"/v1/policies/{first['id']}", {"description": None, "defaultAction": "allow"}).body


def test_a_rollback_creates_a_new_version_with_the_old_content(api, policy):
    reply = api.post(f"/v1/policies/{policy['id']}/rollback", {"version": 1})
    assert reply.status == 200
    assert {name: reply[name] for name in FULL} == FULL
    assert (reply["id"], reply["version"]) == (policy["id"], 4)
    assert api.get(f"/v1/policies/{policy['id']}").body == reply.body
    assert api.get(f"/v1/policies/{policy['id']}/versions")["totalCount"] == 4


def test_a_rollback_decides_the_next_check_and_can_be_undone(api, policy, account):
    path = f"/v1/policies/{policy['id']}/rollback"
    check = {"contentId": factories.content(account, policy_id=policy["id"]).pk, "requester": "org"}
    for version, is_allowed in ((1, False), (3, True)):
        reply = api.post(path, {"version": version})
        checked = api.post("/v1/access/check", check)
        assert (checked["allowed"], checked["policyVersion"]) == (is_allowed, reply["version"])
    assert (reply["version"], reply["name"], reply["defaultAction"]) == (5, "Second", "allow")


def test_every_version_is_kept_as_it_was_newest_first(api, policy):
    for body in [{}, {"version": None}, {"version": 0}, {"version": 4}, {"version": "1"}, {"version": 1.0}]:
        reply = api.post(f"/v1/policies/{policy['id']}/rollback", body)
        assert reply.status_and_param == (422, "version")
        assert api.get(f"/v1/policies/{policy['id']}")["version"] == 3
    api.patch(f"/v1/policies/{policy['id']}", {"name": ""})
    assert api.get(f"/v1/policies/{policy['id']}/versions")["totalCount"] == 3
    reply = api.get(f"/v1/policies/{policy['id']}/versions")
    third, second, first = reply["data"]
    assert (reply.status, reply["object"], reply["totalCount"], reply["hasMore"]) == (200, "list", 3, False)
    assert third == policy
    assert (second["version"], second["name"], second["rules"]) == (2, "Second", [])
    assert {name: first[name] for name in FULL} == FULL
    assert {version["id"] for version in reply["data"]} == {policy["id"]}
    first = api.get(f"/v1/policies/{policy['id']}/versions", limit=2)
    rest = api.get(f"/v1/policies/{policy['id']}/versions", limit=2, cursor=first["nextCursor"])
    assert [version["version"] for version in first["data"] + rest["data"]] == [3, 2, 1]
