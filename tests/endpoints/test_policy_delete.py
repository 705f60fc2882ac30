"""DELETE /v1/policies/:id (docs/reference/policies.md)."""

import pytest

from tests import factories


@pytest.fixture
def policy(account):
    return factories.policy(account)


def test_a_deleted_policy_is_not_found(api, policy):
    reply = api.delete(f"/v1/policies/{policy.pk}")
    assert (reply.status, reply.body) == (200, {"id": policy.pk, "object": "policy", "deleted": True})
    for method, path in [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/versions"), ("POST", "/rollback")]:
        api.delete(f"/v1/policies/{policy.pk}")
        body = {"PATCH": {"name": "x"}, "POST": {"version": 1}}.get(method)
        assert api.request(method, f"/v1/policies/{policy.pk}{path}", body).status == 404


def test_a_linked_policy_stays_and_its_decisions_outlive_it(api, account, policy):
    factories.content(account, policy_id=policy.pk)
    reply = api.delete(f"/v1/policies/{policy.pk}")
    assert (reply.status, reply.error["code"], reply.error["type"]) == (409, "resource_in_use", "conflict_error")
    assert api.get(f"/v1/policies/{policy.pk}").status == 200
    item = factories.content(account, policy_id=policy.pk)
    decision = api.post("/v1/access/check", {"contentId": item.pk, "requester": "org"})
    api.patch(f"/v1/content/{item.pk}", {"policyId": None})
    api.delete(f"/v1/policies/{policy.pk}")
    kept = api.get(f"/v1/access/decisions/{decision['id']}")
    assert (kept.status, kept["policyId"], kept["reason"]) == (200, policy.pk, "no_license")


@pytest.mark.parametrize("release", ["unlink", "delete"])
def test_a_policy_can_go_once_nothing_links_to_it(api, account, policy, release):
    item = factories.content(account, policy_id=policy.pk)
    if release == "unlink":
        api.patch(f"/v1/content/{item.pk}", {"policyId": None})
    else:
        api.delete(f"/v1/content/{item.pk}")
    assert api.delete(f"/v1/policies/{policy.pk}").status == 200
