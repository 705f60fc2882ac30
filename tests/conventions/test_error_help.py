import re
from pathlib import Path

import pytest

from accounts.limits.windows import DAY, MINUTE, LimitState, Window
from kit.http.error_pages import api_paths
from kit.http.errors import ERRORS_PAGE, RateLimitExceeded, doc_url
from kit.openapi.error_examples import error_codes
from kit.rest.resources import models_by_prefix
from kit.values.suggestions import MAX_SUGGESTIONS, MAX_TEXT, nearest_names
from tests import factories
from tests.client import ApiClient
from tests.conventions.endpoints import ENDPOINTS, known_to_the_resolver
from tests.conventions.replies import assert_error

PAGE = (Path(__file__).parents[2] / "docs/reference/errors.md").read_text()


def misspelled(name: str) -> str:
    """Swap the name's last two letters, or double the last one if they are equal."""
    exchanged = f"{name[:-2]}{name[-1]}{name[-2]}"
    return exchanged if exchanged != name else f"{name}{name[-1]}"


def test_every_code_has_an_anchor_and_a_link(settings):
    for code in error_codes():
        assert PAGE.count(f'<a id="{code}"></a>') == 1
        assert doc_url(code) == f"{ERRORS_PAGE}#{code}"
    settings.BASE_URL = "https://api.pub.example"
    assert ApiClient(None).get("/v1/content").error["docUrl"] == (
        "https://api.pub.example/docs/reference/errors/#missing_api_key"
    )


def test_the_paths_are_those_of_all_endpoints():
    assert {path.replace("{}", "{id}") for _, path in known_to_the_resolver()} <= set(api_paths())
    assert len(api_paths()) >= len({endpoint.path for endpoint in ENDPOINTS}) / 2


def test_a_misspelled_path_is_corrected(anonymous):
    for path, meant in (
        ("/v1/contents", "/v1/content"), ("/v1/Content", "/v1/content"), ("/content", "/v1/content"),
        ("/v1/licences", "/v1/licenses"), ("/v1/polices/pol_01kd9wjm9kepqvj3h1k7c8x2rt", "/v1/policies/{id}"),
        ("/v1/access/checks", "/v1/access/check"),
    ):  # fmt: skip
        assert anonymous.get(path).error["message"] == f"There is nothing at {path}. Did you mean `{meant}`?"
    for path in ("/v1", "/v1/zzzz"):
        assert anonymous.get(path).error["message"] == f"There is nothing at {path}. /docs/api/ lists all endpoints."
    assert anonymous.get("/docs/api/").status == 200


def test_misspelled_parameters_values_and_conditions_are_corrected(api: ApiClient):
    for query, name in (
        ("titel=x", "title"), ("limits=3", "limit"), ("sort=titel", "title"), ("fields=titel", "title"),
        ("expand=polcy", "policy"), ("type=artikel", "article"), ("format=jsnl", "jsonl"),
    ):  # fmt: skip
        error = api.get(f"/v1/content?{query}").error
        assert error["message"].endswith(f" Did you mean `{name}`?")
        assert error["kind"] == ("unknown" if query in ("titel=x", "limits=3") else "malformed")
    rule = {"action": "allow", "conditions": {"licenceType": "a"}}
    error = api.post("/v1/policies", {"name": "x", "rules": [rule]}).error
    assert error["kind"] == "unknown"
    assert error["message"].endswith(" Did you mean `licenseType`?")


def test_faults_are_unknown_missing_or_malformed(api: ApiClient, account):
    error = api.post("/v1/content", {"titel": "x", "type": "artikel"}).error
    assert [(one["param"], one["kind"]) for one in error["errors"]] == [
        ("titel", "unknown"),
        ("title", "missing"),
        ("type", "malformed"),
    ]
    assert error["errors"][2]["message"].endswith(" Did you mean `article`?")
    for path, fields, param in (
        ("policies", {"tests": [{"name": "Unknown", "expect": {"allowed": True}}]}, "tests[0].requester"),
        ("sites", {"rules": [{"policyId": None}]}, "rules[0].pattern"),
        ("licenses", {"pricePerAccess": {"amount": "1"}}, "pricePerAccess.currency"),
    ):
        make = {"policies": factories.policy, "sites": factories.site, "licenses": factories.license}[path]
        error = api.patch(f"/v1/{path}/{make(account).pk}", fields).error
        assert (error["param"], error["kind"]) == (param, "missing")


def test_the_fields_of_a_check_are_corrected_on_both_ways(api: ApiClient, account):
    item = factories.content(account)
    error = api.post("/v1/access/check", {"contentID": item.pk, "requester": {"naem": "x"}}).error
    assert error["docUrl"] == doc_url("invalid_request")
    told = {one["param"]: (one["kind"], one["message"]) for one in error["errors"]}
    assert told["contentID"] == ("unknown", "There is no such field. Did you mean `contentId`?")
    assert told["requester.naem"] == ("unknown", "There is no such field. Did you mean `name`?")
    assert told["requester.id"] == ("missing", "This field is required.")
    assert api.post("/v1/access/check", {"contentId": item.pk}).error["kind"] == "missing"


def test_an_unknown_host_names_the_setting(api: ApiClient, settings):
    settings.ALLOWED_HOSTS = ["api.pub.example"]
    for method, path in (("POST", "/v1/access/check"), ("GET", "/v1/content")):
        refused = api.request(method, path, headers={"Host": "x.example"})
        assert_error(refused, 400, "invalid_request")
        assert refused.error["message"] == "Unknown host 'x.example'. Add it to ALLOWED_HOSTS."


def test_suggestions_are_bounded_and_name_no_read_only_fields(api: ApiClient):
    assert nearest_names("titel" + "x" * MAX_TEXT, ["title"]) is None
    assert nearest_names(5, ["title"]) is None
    error = api.post("/v1/content", {"title": "x", **{f"titl{index}": 1 for index in range(50)}}).error
    assert sum("Did you mean" in one["message"] for one in error["errors"]) == MAX_SUGGESTIONS
    # Errors reveal neither read-only fields nor account data.
    error = api.post("/v1/content", {"title": "x", "creatd": "2026-01-01"}).error
    assert error["message"].startswith("There is no such field. Fields: externalId, title, ")
    assert "created" not in error["message"]


def test_a_conflict_names_the_existing_resource(api):
    for path, body, param in [
        ("content", {"title": "A"}, "externalId"),
        ("policies", {"name": "A"}, "externalId"),
        ("licenses", {"requesterId": "org_a", "licenseType": "basic"}, "externalId"),
        ("sites", {"host": "pub.example"}, "host"),
    ]:
        sent = body if param == "host" else {**body, "externalId": "one"}
        made = api.post(f"/v1/{path}", sent)
        assert made.status == 201, made.body
        refused = api.post(f"/v1/{path}", sent)
        assert refused.status_and_param == (409, param), path
        assert made["id"] in refused.error["message"], path


def test_a_parameter_of_other_apis_or_a_time_that_cannot_be_read_gets_a_hint(api):
    for name in ("page", "offset"):
        refused = api.get(f"/v1/content?{name}=2")
        assert refused.status_and_param == (400, name)
        assert "`cursor`" in refused.error["message"]
    for value, hint in (("2026-01-31T00:00:00+01:00", "%2B"), ("2026-02-31", "no day 2026-02-31")):
        refused = api.get(f"/v1/content?created[gte]={value}")
        assert refused.status_and_param == (400, "created[gte]")
        assert hint in refused.error["message"]


def test_one_link_to_a_policy_is_singular(api, account):
    policy = factories.policy(account)
    factories.content(account, policy=policy)
    assert api.delete(f"/v1/policies/{policy.pk}").error["message"] == "1 content item still links to this policy."


@pytest.mark.parametrize(("seconds", "period"), [(MINUTE, "minute"), (DAY, "day")])
def test_a_plan_limit_names_its_period(seconds, period):
    state = LimitState.from_counts((Window(60, seconds),), [60], 0, allowed=False)
    with pytest.raises(RateLimitExceeded, match=f"60 requests a {period} is used up"):
        state.check()


FIND_ITEM = " An id begins with cnt_. Find it with GET /v1/content?externalId=ext-17."
FIND_POLICY = (
    " An id begins with pol_."
    " Find it with GET /v1/policies?externalId=My%20policy or GET /v1/policies?name=My%20policy."
)
SEARCHES = [path for model in models_by_prefix().values() for path in getattr(model, "searched_by", ())]
IN_PATHS = sorted(
    {one.path for one in ENDPOINTS if re.fullmatch(r"/v1/[a-z/-]+/\{\w+\}", one.path)} - {"/v1/requesters/{requester}"}
)


def test_the_lists_of_the_hints_exist(api):
    for path in SEARCHES:
        assert api.get(f"{path}nothing").status == 200, path


@pytest.mark.parametrize("path", IN_PATHS)
def test_another_identifier_in_a_path(api, path):
    address = re.sub(r"\{\w+\}", "my own id", path).replace(" ", "%20")
    refused = api.get(address)
    assert refused.status_and_code in ((404, "resource_not_found"), (405, "method_not_allowed"))
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
    assert refused.status_and_param == (400, "policyId")
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
        assert refused.status_and_param == (404, name)
        assert refused.error["message"] == f"There is no content item with the {name} '{value}'.{hint}"
