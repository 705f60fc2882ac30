def test_a_deleted_item_is_not_found_and_its_decisions_stay(api, item):
    path = f"/v1/content/{item.pk}"
    decision = api.post("/v1/access/check", {"contentId": item.pk, "requester": "org"})
    reply = api.delete(path)
    assert (reply.status, reply.body) == (200, {"id": item.pk, "object": "content", "deleted": True})
    for method in ("GET", "PATCH", "DELETE"):
        reply = api.request(method, path, {"title": "x"} if method == "PATCH" else None)
        assert reply.status_and_code == (404, "resource_not_found")
    for named in ({"externalId": "a-1"}, {"source": "https://example.com/a"}, {"contentId": item.pk}):
        assert api.post("/v1/access/check", {**named, "requester": "org"}).status == 404
    assert api.get(f"/v1/access/decisions/{decision['id']}")["contentId"] == item.pk
    assert api.get("/v1/access/decisions", contentId=item.pk)["totalCount"] == 1
