import re

from tests.endpoints.content_fields import A_TIMESTAMP
from tests.endpoints.policy_fields import FULL, OUT_OF_BOUNDS


def test_a_policy_comes_back_as_it_was_sent(api):
    reply = api.post("/v1/policies", FULL)
    assert reply.status == 201
    assert api.get(f"/v1/policies/{reply['id']}").body == reply.body
    created = dict(reply.body)
    assert re.fullmatch(r"pol_[0-9a-z]{26}", created.pop("id"))
    assert A_TIMESTAMP(created.pop("created"))
    given_none = {"externalId": None, "metadata": {}}
    assert created == {"object": "policy", **FULL, "mode": "enforce", "tests": [], "version": 1, **given_none}
    closed, again = (api.post("/v1/policies", {"name": "Closed"}) for _ in range(2))
    assert (closed.status, again.status) == (201, 201)
    assert set(closed.body) == {*created, "id", "created"}
    assert (closed["description"], closed["rules"], closed["defaultAction"]) == (None, [], "deny")
    whole = {"object": "list", "data": [again.body, closed.body, reply.body], "hasMore": False, "totalCount": 3}
    assert api.get("/v1/policies").body == whole


def test_values_out_of_bounds_are_refused_by_name(api):
    reply = api.post("/v1/policies", {"rules": []})
    assert (reply.status, reply.error["code"], reply.error["param"]) == (422, "invalid_request", "name")
    for name, value, param in OUT_OF_BOUNDS:
        reply = api.post("/v1/policies", {"name": "x", name: value})
        assert (reply.status, reply.error["code"], reply.error["param"]) == (422, "invalid_request", param)
    assert api.get("/v1/policies")["totalCount"] == 0


def test_values_within_bounds_are_stored(api):
    for fields in [
        {"name": "x" * 255}, {"description": "x" * 2000}, {"description": None}, {"defaultAction": "allow"},
    ]:  # fmt: skip
        reply = api.post("/v1/policies", {"name": "x", **fields})
        assert (reply.status, {name: reply[name] for name in fields}) == (201, fields)
