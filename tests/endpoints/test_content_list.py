from tests import factories
from tests.endpoints.content_fields import FIELDS


def test_items_are_listed_newest_first_without_stats(api):
    assert api.get("/v1/content").body == {"object": "list", "data": [], "hasMore": False, "totalCount": 0}
    made = [api.post("/v1/content", {"title": f"Item {n}"}).body for n in range(3)]
    assert api.get("/v1/content").body == {"object": "list", "data": made[::-1], "hasMore": False, "totalCount": 3}
    assert set(made[0]) == FIELDS


def test_a_page_has_20_items_by_default(api, account):
    for _ in range(21):
        factories.content(account)
    reply = api.get("/v1/content")
    assert (len(reply["data"]), reply["hasMore"], reply["totalCount"]) == (20, True, 21)


def test_archived_but_not_deleted_items_are_listed(api, account):
    item = factories.content(account)
    api.patch(f"/v1/content/{item.pk}", {"status": "archived"})
    assert api.get("/v1/content")["data"][0]["status"] == "archived"
    api.delete(f"/v1/content/{item.pk}")
    assert api.get("/v1/content")["totalCount"] == 0


def test_each_policy_can_be_embedded(api, account):
    policy = factories.policy(account)
    factories.content(account, policy_id=policy.pk)
    factories.content(account)
    without, linked = api.get("/v1/content", expand="policy")["data"]
    assert linked["policy"] == api.get(f"/v1/policies/{policy.pk}").body
    assert linked["policyId"] == policy.pk
    assert without["policy"] is None
    assert api.get("/v1/content", expand="stats").status_and_param == (400, "expand")
