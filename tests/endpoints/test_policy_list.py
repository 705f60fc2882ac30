def test_policies_are_listed_newest_first_and_whole(api):
    policy = api.post("/v1/policies", {"name": "x"})
    api.delete(f"/v1/policies/{policy['id']}")
    assert api.get("/v1/policies")["totalCount"] == 0
    made = [api.post("/v1/policies", {"name": f"Policy {n}"}).body for n in range(3)]
    reply = api.get("/v1/policies")
    assert reply.status == 200
    assert reply.body == {"object": "list", "data": made[::-1], "hasMore": False, "totalCount": 3}


def test_a_page_has_20_policies_by_default(api):
    for n in range(21):
        api.post("/v1/policies", {"name": f"Policy {n}"})
    reply = api.get("/v1/policies")
    assert (len(reply["data"]), reply["hasMore"], reply["totalCount"]) == (20, True, 21)
