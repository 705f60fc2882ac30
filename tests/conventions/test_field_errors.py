"""All faults of a body at once, the first of them where it always stands."""

from tests.client import ApiClient


def test_every_fault_of_a_body_is_told(api: ApiClient):
    error = api.post(
        "/v1/content",
        {"title": " ", "type": "song", "colour": "red", "metadata": {"author": 1, "wordCount": -1}, "tags": ["", 2]},
    ).error
    params = [one["param"] for one in error["errors"]]
    assert params == ["colour", "title", "type", "metadata.author", "metadata.wordCount", "tags[0]", "tags[1]"]
    assert {one["code"] for one in error["errors"]} == {"invalid_request"}
    assert (error["param"], error["message"]) == ("colour", error["errors"][0]["message"])


def test_one_fault_stands_alone(api: ApiClient):
    error = api.post("/v1/content", {"title": " "}).error
    assert sorted(error) == ["code", "message", "param", "type"]


def test_a_row_of_a_bulk_request_tells_all_of_its_own(api: ApiClient):
    reply = api.post("/v1/content/bulk", {"items": [{"title": " ", "type": "song"}, {"title": "Item"}]})
    wrong, right = reply["data"]
    assert [one["param"] for one in wrong["error"]["errors"]] == ["title", "type"]
    assert right["status"] == 201
