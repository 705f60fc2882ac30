import re
import tomllib
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import get_resolver

from config.pages import openapi_document
from kit.openapi.components import used_schemas
from kit.openapi.error_examples import documented_errors
from tests.client import ApiClient
from tests.conventions.endpoints import known_to_the_resolver, routes
from tests.conventions.replies import RATE_LIMIT_HEADERS

DOCUMENT = openapi_document()
OPERATIONS = [
    (path, method, operation) for path, methods in DOCUMENT["paths"].items() for method, operation in methods.items()
]
HEADERS = {*RATE_LIMIT_HEADERS, "RateLimit-Policy", "RateLimit", "X-Request-Id"}
WITHOUT_BODY = {"revokeLicense", "rotateWebhook", "pingWebhook", "voidGrant", "verifySite"}  # the address says it all


def resolved(value: Any) -> Any:
    """The document's value with references followed."""
    if isinstance(value, list):
        return [resolved(member) for member in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        target: Any = DOCUMENT
        for name in value["$ref"].removeprefix("#/").split("/"):
            target = target[name]
        return resolved(target)
    return {name: resolved(member) for name, member in value.items()}


def errors_in(example: Any, schema: Any) -> list[str]:
    from jsonschema import Draft202012Validator, FormatChecker  # a second and a half, which not every worker needs

    validator = Draft202012Validator(resolved(schema), format_checker=FormatChecker())
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(example)]


def content(body: dict[str, Any]) -> dict[str, Any]:
    media: dict[str, Any] = resolved(body)["content"]["application/json"]
    return media


def without_names(path: str) -> str:
    """Return a path with `{}` for each parameter, as the resolver has it."""
    return re.sub(r"{\w+}", "{}", path)


def viewsets() -> list[tuple[str, Any]]:
    """Return the path and the view of each endpoint."""
    return [(path, view) for path, view in routes(get_resolver().url_patterns) if hasattr(view, "cls")]


@pytest.mark.slow
def test_the_document_is_valid_and_made_without_a_warning(capsys: pytest.CaptureFixture[str]):
    from openapi_spec_validator import OpenAPIV31SpecValidator  # imports jsonschema

    call_command("spectacular", validate=True, fail_on_warn=True, stdout=StringIO())
    assert capsys.readouterr().err == ""
    assert [error.message for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()] == []


def verbs_of(method: str, action: str, listing: frozenset[str]) -> tuple[str, ...]:
    """Return the verbs that an operation id may begin with: of a POST the first word of its action's name."""
    if method == "get":
        return ("list",) if action in {"list", *listing} else ("get",)
    word = action.partition("_")[0]
    words = {"bulk": "upsert", "add": "create", "offers": "get"}  # those that are no verb of the API
    return {"patch": ("update",), "delete": ("delete", "revoke")}.get(method, (words.get(word, word),))


def test_operation_ids_are_unique_and_begin_with_the_verb_of_their_action():
    ids = [operation["operationId"] for _, _, operation in OPERATIONS]
    assert len(set(ids)) == len(ids)
    by_path = {without_names(path): methods for path, methods in DOCUMENT["paths"].items()}
    for path, view in viewsets():
        for method, operation in by_path.get(path, {}).items():
            verbs = verbs_of(method, view.actions[method], view.cls.listing)
            assert re.fullmatch(rf"({'|'.join(verbs)})[A-Z][A-Za-z]+", operation["operationId"]), (method, path)


def test_a_description_is_of_the_operation_and_not_of_its_class():
    classes = {view.cls for _, view in viewsets()}
    told = {(base.__doc__ or "").partition("\n")[0] for cls in classes for base in cls.__mro__} - {""}
    descriptions = {operation["description"].partition("\n")[0] for _, _, operation in OPERATIONS}
    assert not told & descriptions


def test_each_operation_documents_its_permission_errors_and_headers():
    tags = {tag["name"] for tag in DOCUMENT["tags"]}
    for path, method, operation in OPERATIONS:
        name, responses = operation["operationId"], operation["responses"]
        assert operation["summary"], name
        assert operation["tags"][0] in tags, name
        assert re.search(r"Needs the permissions? `[a-z_]+:[a-z]+`|Any key may ask", operation["description"]), name
        assert operation["security"] == [{"apiKey": []}], name

        expected = {"400", "401", "403", "429", "500", "503"}
        expected |= {"404"} if "{id}" in path else set()
        expected |= {"413", "415", "422"} if method in ("post", "patch") else set()
        expected |= {"409"} if method == "post" else set()
        assert expected <= set(responses), name
        for status, reply in responses.items():
            assert set(resolved(reply)["headers"]) >= HEADERS, (name, status)
            if status in documented_errors():
                assert content(reply)["examples"].keys() <= documented_errors()[status].keys(), (name, status)
        assert "Retry-After" in resolved(responses["429"])["headers"], name
        names = {parameter["name"] for parameter in operation.get("parameters", [])}
        assert ("Idempotency-Key" in names) == (method == "post"), name


def test_every_body_reply_and_webhook_has_an_example_that_its_schema_allows():
    for _, _, operation in OPERATIONS:
        for status, reply in operation["responses"].items():
            if status == "304":  # it has no body
                continue
            media = content(reply)
            several = [one["value"] for one in media.get("examples", {}).values()]
            examples = [media["example"]] if "example" in media else several
            assert examples, (operation["operationId"], status)
            for example in examples:
                assert errors_in(example, media["schema"]) == [], (operation["operationId"], status)

    for _, method, operation in OPERATIONS:
        name = operation["operationId"]
        has_body = method in ("post", "patch") and name not in WITHOUT_BODY
        assert ("requestBody" in operation) == has_body, name
        if has_body:
            media = content(operation["requestBody"])
            assert operation["requestBody"]["required"], name
            assert errors_in(media["example"], media["schema"]) == [], name
    for name, item in DOCUMENT["webhooks"].items():
        media = item["post"]["requestBody"]["content"]["application/json"]
        assert errors_in(media["example"], media["schema"]) == [], name


def test_the_examples_of_creation_are_taken_as_they_stand(api: ApiClient):
    def example(path: str) -> dict[str, Any]:
        body: dict[str, Any] = content(DOCUMENT["paths"][path]["post"]["requestBody"])["example"]
        return body

    policy = api.post("/v1/policies", example("/v1/policies"))
    asked = example("/v1/access/check")
    named = {"policyId": policy["id"], "externalId": asked["externalId"]}
    item = api.post("/v1/content", {**example("/v1/content"), **named})
    check = api.post("/v1/access/check", asked)
    assert [policy.status, item.status, check.status, check["allowed"]] == [201, 201, 200, True]
    assert api.post("/v1/api-keys", example("/v1/api-keys")).status == 201


def test_replies_have_the_fields_that_the_document_requires_and_shows(api: ApiClient):
    shown = content(DOCUMENT["paths"]["/v1/content"]["post"]["responses"]["201"])["example"]
    assert set(api.post("/v1/content", {"title": "Item"}).body) == set(shown)
    schemas = DOCUMENT["components"]["schemas"]
    item = schemas["Content"]
    assert {"externalId", "metadata", "tags", "policyId", "status"} <= set(item["required"])
    assert (item["properties"]["tags"]["type"], item["properties"]["metadata"]["type"]) == ("array", "object")
    assert {"price", "contentIds", "expiresAt"} <= set(schemas["License"]["required"])
    assert schemas["ChargeShown"]["properties"]["amount"]["format"] == "decimal"
    assert errors_in(api.post("/v1/content", {"title": "Item"}).body, item) == []


def parts(value: Any, where: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all objects of the document except examples."""
    if isinstance(value, dict):
        yield where, value
        for name, member in value.items():
            if name not in ("example", "examples"):
                yield from parts(member, f"{where}/{name}")
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield from parts(member, f"{where}[{index}]")


def test_schemas_are_of_openapi_3_1_and_described():
    patterns = {part["pattern"] for _, part in parts(DOCUMENT) if isinstance(part.get("pattern"), str)}
    assert {pattern for pattern in patterns if re.search(r"\\[AZz]|\(\?P", pattern)} == set()
    assert [where for where, part in parts(DOCUMENT) if "nullable" in part] == []
    assert [where for where, part in parts(DOCUMENT) if part.get("exclusiveMinimum") is True] == []
    assert [where for where, part in parts(DOCUMENT) if "oneOf" in part and "properties" in part] == []
    bare = [f"{where}/{name}" for where, part in parts(DOCUMENT) for name, field in fields_of(part)]
    assert bare == []


def fields_of(part: dict[str, Any]) -> list[tuple[str, Any]]:
    """Return the parameters and properties without a description."""
    properties = part.get("properties") if isinstance(part.get("properties"), dict) else {}
    found = [(name, field) for name, field in properties.items() if not {"description", "$ref"} & field.keys()]
    return found + [(one["name"], one) for one in part.get("parameters", []) if not one.get("description")]


def test_components_are_shared_used_and_written_once():
    assert {"Rule", "Conditions", "Check", "Decision", "Error"} <= set(DOCUMENT["components"]["schemas"])
    body = DOCUMENT["paths"]["/v1/access/check"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body == {"$ref": "#/components/schemas/Check"}
    check = DOCUMENT["components"]["schemas"]["Check"]["properties"]
    assert check["permission"]["type"] == ["string", "null"]
    assert check["dryRun"]["type"] == ["boolean", "null"]
    assert check["context"]["anyOf"] == [{"$ref": "#/components/schemas/Context"}, {"type": "null"}]
    assert check["requester"]["anyOf"][1] == {"$ref": "#/components/schemas/Requester"}
    # Generators make a type for each copy of an enum.
    places: dict[str, list[str]] = {}
    for where, part in parts(DOCUMENT["components"]):
        if isinstance(part.get("enum"), list) and len(part["enum"]) > 1:
            places.setdefault(str(sorted(map(str, part["enum"]))), []).append(where)
    assert {values: found for values, found in places.items() if len(found) > 1} == {}
    used = re.findall(r"'\$ref': '#/components/schemas/(\w+)'", str(DOCUMENT))
    assert DOCUMENT["components"]["schemas"].keys() - set(used) == set()


def test_replies_and_webhooks_close_no_values_and_no_fields():
    """Clients made from a closed schema would refuse the next minor version."""
    replies = [operation["responses"] for _, _, operation in OPERATIONS]
    replies += [DOCUMENT["webhooks"], DOCUMENT["components"]["responses"]]
    names = used_schemas(DOCUMENT["components"]["schemas"], *replies)
    replies += [DOCUMENT["components"]["schemas"][name] for name in names]
    assert len(names) > 100
    closing = {"enum", "const", "pattern", "discriminator"}
    schemas = [(where, part) for where, part in parts(replies) if not where.endswith("/properties")]
    closed = [where for where, part in schemas if closing & part.keys() or part.get("additionalProperties") is False]
    assert closed == []


def test_requests_are_strict_about_values_and_discriminate_rules():
    schemas = DOCUMENT["components"]["schemas"]
    assert schemas["Mode"]["enum"] == ["disabled", "enforce", "observe"]
    assert schemas["AllowRule"]["additionalProperties"] is False
    assert schemas["RuleShown"]["properties"]["action"]["x-extensible-enum"] == ["allow", "deny"]

    rule = DOCUMENT["components"]["schemas"]["Rule"]
    assert rule["discriminator"]["propertyName"] == "action"
    assert errors_in({"action": "deny", "conditions": {"default": True}}, rule) == []
    assert errors_in({"action": "deny", "conditions": {"default": True, "tags": "a"}}, rule) != []


def test_the_document_has_the_version_and_every_endpoint():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert DOCUMENT["info"]["version"] == project["version"]
    assert DOCUMENT["servers"][0]["url"] == "/"
    documented = {(method.upper(), without_names(path)) for path, method, _ in OPERATIONS}
    assert documented == known_to_the_resolver() - {("GET", "/v1/openapi.json")}
