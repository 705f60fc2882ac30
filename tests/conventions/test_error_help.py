"""Errors say how to fix them: the nearest name, the kind of error, and a link to the errors reference."""

from pathlib import Path

from kit.http.error_pages import api_paths
from kit.http.problems import ERRORS_PAGE, doc_url
from kit.openapi.error_examples import error_codes
from kit.values.suggestions import MAX_SUGGESTIONS, MAX_TEXT, nearest
from tests import factories
from tests.client import ApiClient
from tests.conventions.endpoints import ENDPOINTS, known_to_the_resolver

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
    error = api.post("/v1/access/check", {}, headers={"Host": "x.example"}).error
    assert error["message"] == "Unknown host 'x.example'. Add it to ALLOWED_HOSTS."


def test_suggestions_are_bounded_and_name_no_read_only_fields(api: ApiClient):
    assert nearest("titel" + "x" * MAX_TEXT, ["title"]) is None
    assert nearest(5, ["title"]) is None
    error = api.post("/v1/content", {"title": "x", **{f"titl{index}": 1 for index in range(50)}}).error
    assert sum("Did you mean" in one["message"] for one in error["errors"]) == MAX_SUGGESTIONS
    # Errors reveal neither read-only fields nor account data.
    error = api.post("/v1/content", {"title": "x", "creatd": "2026-01-01"}).error
    assert error["message"].startswith("There is no such field. Fields: externalId, title, ")
    assert "created" not in error["message"]
