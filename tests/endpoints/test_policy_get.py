"""GET /v1/policies/:id (docs/reference/policies.md)."""

from tests.endpoints.policy_fields import FULL


def test_a_policy_is_read_as_it_was_created(api):
    created = api.post("/v1/policies", FULL)
    reply = api.get(f"/v1/policies/{created['id']}")
    assert (reply.status, reply.body) == (200, created.body)
    policy = api.post("/v1/policies", FULL)
    assert "updated" not in api.get(f"/v1/policies/{policy['id']}").body
    changed = api.patch(f"/v1/policies/{policy['id']}", {"name": "Other"})
    assert api.get(f"/v1/policies/{policy['id']}")["updated"] == changed["updated"]
