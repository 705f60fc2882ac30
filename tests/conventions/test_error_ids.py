import re

import pytest

from kit.rest.resources import models_by_prefix
from tests import factories
from tests.conventions.endpoints import ENDPOINTS

FIND_ITEM = " An id begins with cnt_. Find it with GET /v1/content?externalId=ext-17."
FIND_POLICY = (
    " An id begins with pol_."
    " Find it with GET /v1/policies?externalId=My%20policy or GET /v1/policies?name=My%20policy."
)
SEARCHES = [path for model in models_by_prefix().values() for path in getattr(model, "searched_by", ())]
IN_PATHS = sorted(
    {one.path for one in ENDPOINTS if re.fullmatch(r"/v1/[a-z/-]+/\{\w+\}", one.path)} - {"/v1/requesters/{requester}"}
)


@pytest.mark.parametrize("path", SEARCHES)
def test_the_lists_of_the_hints_exist(api, path):
    assert api.get(f"{path}nothing").status == 200


@pytest.mark.parametrize("path", IN_PATHS)
def test_another_identifier_in_a_path(api, path):
    address = re.sub(r"\{\w+\}", "my own id", path).replace(" ", "%20")
    refused = api.get(address)
    assert (refused.status, refused.error["code"]) in ((404, "resource_not_found"), (405, "method_not_allowed"))
    if refused.status == 404 and "crawlers" not in path:
        assert re.search(r"'my own id'\. An id begins with [a-z]+_\.", refused.error["message"]), refused.error
        for found in re.findall(r"GET (\S+?)(?= or|\.$)", refused.error["message"]):
            assert api.get(found).status == 200


def test_an_id_in_a_path_that_cannot_be_one_gets_a_hint(api, account):
    factories.content(account, external_id="ext-17")
    for method in ("GET", "PATCH", "DELETE"):
        refused = api.request(method, "/v1/content/ext-17", {} if method == "PATCH" else None)
        assert (refused.status, refused.error["message"]) == (404, f"There is no content item 'ext-17'.{FIND_ITEM}")
    item = factories.content(account)
    refused = api.get(f"/v1/content/{item.pk[:-1]}")
    assert refused.error["message"].endswith(" An id has 26 lower-case letters and digits after cnt_.")
    # Another account's id and one that never existed have the same reply.
    unknown = f"cnt_{'0' * 26}"
    assert api.get(f"/v1/content/{unknown}").error["message"] == f"There is no content item '{unknown}'."


def test_an_id_in_a_body_or_filter_that_cannot_be_one_gets_a_hint(api):
    for path, body, param, message in (
        ("content", {"title": "A", "policyId": "My policy"}, "policyId",
         f"There is no policy 'My policy'.{FIND_POLICY}"),
        ("licenses", {"requesterId": "a", "licenseType": "b", "contentIds": ["ext-17"]}, "contentIds[0]",
         f"There is no content item 'ext-17'.{FIND_ITEM}"),
        ("licenses", {"requesterId": "a", "licenseType": "b", "policyIds": ["My policy"]}, "policyIds[0]",
         f"There is no policy 'My policy'.{FIND_POLICY}"),
        ("sites", {"host": "pub.example", "rules": [{"pattern": "/*", "policyId": "My policy"}]}, "rules[0].policyId",
         f"There is no policy 'My policy'.{FIND_POLICY}"),
        ("revenue", {"amount": 5, "currency": "EUR", "contentId": "ext-17"}, "contentId",
         f"There is no content item 'ext-17'.{FIND_ITEM}"),
        ("wallets", {"requesterId": "nobody", "unit": "USD"}, "requesterId",
         "There is no requester 'nobody'. Create it with POST /v1/requesters."),
    ):  # fmt: skip
        refused = api.post(f"/v1/{path}", body)
        assert (refused.status, refused.error["param"], refused.error["message"]) == (422, param, message)
    [row] = api.post("/v1/content/bulk", {"items": [{"id": "ext-17", "title": "A"}]})["data"]
    assert (row["status"], row["error"]["param"]) == (422, "id")
    assert row["error"]["message"] == f"There is no content item 'ext-17'.{FIND_ITEM}"
    refused = api.get("/v1/content?policyId=My%20policy")
    assert (refused.status, refused.error["param"]) == (400, "policyId")
    assert refused.error["message"] == f"Must be an id, not 'My policy'.{FIND_POLICY}"
    [offer] = api.post("/v1/access/offers/batch", {"items": [{"contentId": "ext-17"}]})["data"]
    assert offer["error"]["message"] == f"There is no content item with the contentId 'ext-17'.{FIND_ITEM}"


def test_a_check_by_the_wrong_field_names_the_right_one(api, account):
    item = factories.content(account, external_id="ext-17")
    for name, value, hint in (
        ("contentId", "ext-17", f"{FIND_ITEM} Send your own identifier as `externalId`."),
        ("externalId", item.pk, " Send an id as `contentId`."),
        ("contentId", f"cnt_{'0' * 26}", ""),
        ("externalId", "ext-18", ""),
    ):
        refused = api.post("/v1/access/check", {name: value, "requester": "org_a"})
        assert (refused.status, refused.error["param"]) == (404, name)
        assert refused.error["message"] == f"There is no content item with the {name} '{value}'.{hint}"
