from tests.client import ApiClient


def test_fields_choose_what_lists_resources_and_files_show(api: ApiClient):
    api.post("/v1/content", {"title": "Item", "tags": ["a"]})
    page = api.get("/v1/content?fields=title,tags")
    assert [sorted(one) for one in page["data"]] == [["id", "object", "tags", "title"]]
    assert page["totalCount"] == 1

    item = api.post("/v1/content", {"title": "Item"})
    sparse = api.get(f"/v1/content/{item['id']}?fields=status")
    assert sparse.body == {"id": item["id"], "object": "content", "status": "active"}
    assert sparse.headers["ETag"] == item.headers["ETag"]

    for name in ("a", "b"):
        api.post("/v1/policies", {"name": name})
    cursor = api.get("/v1/policies?limit=1&fields=name")["nextCursor"]
    rest = api.get(f"/v1/policies?limit=1&cursor={cursor}")
    assert [one["name"] for one in rest["data"]] == ["a"]
    file = api.get("/v1/access/decisions?format=csv&fields=allowed,license")
    assert file.content.decode().splitlines()[0].startswith('"id","allowed","license.id"')


def test_unknown_fields_are_named_and_reports_have_none(api: ApiClient):
    refused = api.get("/v1/policies?fields=name,colour")
    assert (refused.status, refused.error["param"]) == (400, "fields")
    assert "'colour'" in refused.error["message"]
    assert api.get("/v1/analytics/usage?fields=summary").status == 400
