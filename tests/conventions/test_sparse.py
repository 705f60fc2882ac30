"""`fields`: the fields of a reply beside `object` and `id`."""

from tests.client import ApiClient


def test_a_list_shows_the_fields_that_are_named(api: ApiClient):
    api.post("/v1/content", {"title": "Item", "tags": ["a"]})
    page = api.get("/v1/content?fields=title,tags")
    assert [sorted(one) for one in page["data"]] == [["id", "object", "tags", "title"]]
    assert page["totalCount"] == 1


def test_a_resource_shows_them_too_with_the_tag_of_the_whole(api: ApiClient):
    item = api.post("/v1/content", {"title": "Item"})
    sparse = api.get(f"/v1/content/{item['id']}?fields=status")
    assert sparse.body == {"id": item["id"], "object": "content", "status": "active"}
    assert sparse.headers["ETag"] == item.headers["ETag"]


def test_an_unknown_field_is_named(api: ApiClient):
    refused = api.get("/v1/policies?fields=name,colour")
    assert (refused.status, refused.error["param"]) == (400, "fields")
    assert "'colour'" in refused.error["message"]


def test_a_cursor_goes_with_any_fields(api: ApiClient):
    for name in ("a", "b"):
        api.post("/v1/policies", {"name": name})
    cursor = api.get("/v1/policies?limit=1&fields=name")["nextCursor"]
    rest = api.get(f"/v1/policies?limit=1&cursor={cursor}")
    assert [one["name"] for one in rest["data"]] == ["a"]


def test_a_file_has_the_columns_of_the_fields(api: ApiClient):
    file = api.get("/v1/access/decisions?format=csv&fields=allowed,license")
    assert file.content.decode().splitlines()[0].startswith('"id","allowed","license.id"')


def test_it_is_no_parameter_of_what_shows_no_resource(api: ApiClient):
    assert api.get("/v1/analytics/usage?fields=summary").status == 400
