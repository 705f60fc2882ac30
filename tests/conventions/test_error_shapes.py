import json
import re
from urllib.parse import quote

import pytest

from licensing.models import Requester
from tests import factories
from tests.client import ApiClient

LICENSE = {"requesterId": "org_acme", "licenseType": "commercial"}
RULE = {"action": "allow", "conditions": {"default": True}}
WALLET = {"requesterId": "org_acme", "unit": "USD"}
OBJECTS = [
    ("licenses", LICENSE, ("price",)),
    ("licenses", LICENSE, ("pricePerAccess",)),
    ("licenses", LICENSE, ("metadata",)),
    ("content", {"title": "A"}, ("metadata",)),
    ("policies", {"name": "A", "rules": [{"action": "allow"}]}, ("rules", 0, "conditions")),
    ("policies", {"name": "A", "rules": [RULE]}, ("rules", 0, "rateLimit")),
    ("policies", {"name": "A", "rules": [RULE]}, ("rules", 0, "pricePerAccess")),
    ("policies", {"name": "A", "rules": [RULE]}, ("rules", 0)),
    ("policies", {"name": "A", "tests": [{}]}, ("tests", 0)),
    ("wallets", WALLET, ("refill",)),
    ("wallets", {**WALLET, "thresholds": [{}]}, ("thresholds", 0)),
    ("sites", {"host": "pub.example", "rules": [{}]}, ("rules", 0)),
    ("webhooks", {"url": "https://hooks.example/a"}, ("headers",)),
]
ARRAYS = [
    ("policies", {"name": "A"}, ("rules",)), ("policies", {"name": "A", "rules": [RULE]}, ("rules", 0, "permissions")),
    ("content", {"title": "A"}, ("tags",)), ("wallets", WALLET, ("thresholds",)),
    ("sites", {"host": "pub.example"}, ("rules",)), ("webhooks", {"url": "https://hooks.example/a"}, ("events",)),
    ("api-keys", {"name": "A", "type": "secret"}, ("permissions",)),
    ("api-keys", {"name": "A", "type": "secret"}, ("allowedIps",)),
]  # fmt: skip
CASES = [(*case, "Must be an object such as {", [5, "5 EUR", ["x"], True]) for case in OBJECTS]
CASES += [(*case, "Must be an array", [5, "x,y", {"x": 1}]) for case in ARRAYS]


def with_value(body, path, value):
    """Return a copy of the body with the value at the path."""
    changed = json.loads(json.dumps(body))
    part = changed
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return changed


def name_param(path):
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def example_in(message):
    return json.JSONDecoder().raw_decode(message, re.search(r"such as (?=[\[{])", message).end())[0]


def send(api, account, path, body):
    if "requesterId" in body and path == "wallets":
        Requester.objects.get_or_create(account=account, requester_id="org_acme")
    return api.post(f"/v1/{path}", body)


@pytest.mark.parametrize(("path", "body", "where", "start", "values"), CASES)
def test_a_value_of_another_shape_is_answered_with_an_example_that_works(
    api, account, path, body, where, start, values
):
    for value in values:
        refused = send(api, account, path, with_value(body, where, value))
        assert (refused.status, refused.error["param"], refused.error["kind"]) == (422, name_param(where), "malformed")
        assert refused.error["message"].startswith(start)
    example = example_in(refused.error["message"])
    rule = example[0] if (path, where) == ("sites", ("rules",)) else example
    if "policyId" in rule:
        rule["policyId"] = factories.policy(account).pk
    made = send(api, account, path, with_value(body, where, example))
    assert made.status == 201 or (start.endswith("{") and "expected to be" in made.error["message"]), made


def test_errors_show_the_given_value_but_no_headers_of_webhooks_and_no_body_that_is_a_string(api: ApiClient):
    """The headers authenticate deliveries."""
    for value, shown in (
        (5, "5"), ("5 EUR", '"5 EUR"'), (["x"], "an array"), (True, "true"), ("x" * 500, '"' + "x" * 100 + '"'),
    ):  # fmt: skip
        message = api.post("/v1/licenses", {**LICENSE, "price": value}).error["message"]
        assert message == f'Must be an object such as {{"amount": 5, "currency": "EUR"}}, not {shown}.'
    refused = api.post("/v1/webhooks", {"url": "https://hooks.example/a", "headers": "Authorization: Bearer hush"})
    assert "hush" not in refused.content.decode()
    # The string may be a key.
    for path in ("/v1/api-keys/find", "/v1/access/check"):
        refused = api.post(path, b'"svc_sk_hush"')
        assert (refused.status, refused.error["message"]) == (400, "The body must be a JSON object, not a string.")


def test_each_part_of_a_check_has_an_example_in_its_error(api):
    id_or_object = 'Must be an id such as "org_acme", or an object such as {"id": "org_acme", "name": "Acme"}.'
    for name, value, message in (
        ("requester", 5, id_or_object),
        ("requester", [], id_or_object),
        ("context", "203.0.113.9", 'Must be an object such as {"ip": "203.0.113.9"}.'),
        ("policy", [], 'Must be an object such as {"rules": [], "defaultAction": "deny"}.'),
        ("source", {"url": "https://a.example"}, "Must be an http(s) URL such as https://example.com/a."),
    ):
        item = {} if name == "source" else {"contentId": "x"}
        error = api.post("/v1/access/check", {**item, "requester": "org_acme", "dryRun": True, name: value}).error
        assert (error["param"], error["message"]) == (name, message)
    for checks, param in (({}, "checks"), ("x", "checks"), ([{}] * 3 + ["x"], "checks[3]")):
        error = api.post("/v1/access/check/batch", {"contentId": "x", "requester": "a", "checks": checks}).error
        assert error["param"] == param
        assert '{"contentId": "cnt_…", "requester": "org_acme"}' in error["message"]


@pytest.mark.parametrize("path", ["content", "policies", "licenses", "api-keys"])
def test_a_bulk_request_takes_an_array_of_up_to_a_thousand_objects(api, path):
    for items, message in (
        ({}, "Must be an array of rows such as [{…}, {…}], not an object."),
        ("x", 'Must be an array of rows such as [{…}, {…}], not "x".'),
        ([], "Takes 1 to 1,000 rows, not 0."),
        ([{}] * 1001, "Takes 1 to 1,000 rows, not 1,001."),
    ):
        refused = api.post(f"/v1/{path}/bulk", {"items": items})
        assert (refused.status, refused.error["param"], refused.error["message"]) == (422, "items", message)
    rows = api.post(f"/v1/{path}/bulk", {"items": [5]})["data"]
    assert (rows[0]["index"], rows[0]["status"]) == (0, 422)
    assert rows[0]["error"]["message"].startswith("Must be an object with ")


def test_an_unknown_field_names_the_known_ones_or_the_part_it_belongs_in(api: ApiClient):
    first, second = api.post("/v1/wallets", {**WALLET, "currency": "USD", "zzz": 1}).error["errors"]
    known = "There is no such field. Fields: requesterId, licenseId, unit, floor, thresholds, refill."
    assert (first["param"], first["message"]) == ("currency", known)
    assert second["message"] == "There is no such field."  # the list is given once
    error = api.post("/v1/access/check", {"contentId": "x", "requester": {"id": "a", "zzz": 1}}).error
    assert error["param"] == "requester.zzz"
    assert error["message"].startswith("There is no such field. Fields: id, name, ")
    for name, part in (("licenseType", "requester"), ("ip", "context"), ("rules", "policy")):
        for path, more in (("check", {}), ("check/batch", {"checks": [{}]})):
            error = api.post(f"/v1/access/{path}", {"contentId": "x", "requester": "a", name: "x", **more}).error
            assert (error["param"], error["kind"]) == (name, "unknown")
            assert error["message"] == f"There is no such field. It belongs in `{part}`."


def test_limits_are_in_the_same_words(api, ids):
    for path, body, message in (
        ("content", {"title": "x" * 501}, "Must have at most 500 characters."),
        ("api-keys/{key}/rotate", {"overlapSeconds": -1}, "Must be at least 0."),
        ("api-keys/{key}/rotate", {"overlapSeconds": 604801}, "Must be at most 604800."),
        ("webhooks", {"url": "https://hooks.example/a", "events": []}, "Must have at least 1 item."),
    ):
        assert api.post(f"/v1/{path.format(**ids)}", body).error["message"] == message


REPORTS = [f"/v1/analytics/{name}" for name in ("usage", "revenue", "pages", "crawlers", "visitors", "observed")]


def test_days_and_windows_of_reports_show_the_value_and_an_example(api):
    for name in ("startDate", "endDate"):
        for path in REPORTS:
            refused = api.get(f"{path}?{name}=01/02/2026")
            assert refused.status_and_param == (400, name)
            assert refused.error["message"].startswith(f"{name}: ")
            assert "'01/02/2026'" in refused.error["message"]
            for example in re.findall(r"\d{4}-[\dT:Z-]+", refused.error["message"]):
                assert api.get(f"{path}?startDate={example}&endDate={example}").status == 200

    for path in REPORTS:
        refused = api.get(f"{path}?startDate=2026-03-01&endDate=2026-02-01")
        assert refused.status_and_param == (400, "startDate")
        message = "startDate is after endDate 2026-02-01: 2026-03-01. Give an earlier startDate."
        assert refused.error["message"] == message

    message = api.get("/v1/analytics/usage?startDate=2999-01-01").error["message"]
    assert re.fullmatch(r"startDate is after today, [\d-]{10}: 2999-01-01\. Give an earlier startDate\.", message)


def test_a_time_without_offset_gets_one(api):
    for path in [*(f"{path}?startDate=" for path in REPORTS), "/v1/content?created[gte]="]:
        for text in ["2026-01-31T12:00:00", "2026-01-31 12:00", "20260131T1200", "2026-01-31T12:00:00.5"]:
            refused = api.get(path + quote(text))
            assert refused.status == 400, text
            assert repr(text) in refused.error["message"], text
            [example] = re.findall(r"as in (\S+Z)\.$", refused.error["message"])
            assert api.get(path + example).status == 200, text


def test_a_parameter_or_operator_of_other_apis_names_the_known_ones(api):
    for name in ("from", "to", "since", "until"):
        for path, limit in (("/v1/analytics/usage", "startDate"), ("/v1/content", "created[gte]")):
            refused = api.get(f"{path}?{name}=2026-01-01")
            assert (refused.status, refused.error["param"], refused.error["kind"]) == (400, name, "unknown")
            [example] = re.findall(r"as in (\S+)\.$", refused.error["message"])
            assert limit in example
            assert api.get(f"{path}?{example}").status == 200

    for name in (
        "title[like]", "title[contains]", "title[gt]", "title[]", "title__contains", "title.ne", "title~", "title!",
    ):  # fmt: skip
        refused = api.get(f"/v1/content?{quote(name)}=x")
        assert (refused.status, refused.error["param"], refused.error["kind"]) == (400, name, "unknown")
        assert refused.error["message"].endswith(
            " Filters of `title`: title, title[eq], title[in], title[ne], title[startsWith]."
        )
    message = api.get("/v1/content?metadata.author[like]=x").error["message"]
    assert " Filters of `metadata.author`: metadata.author, metadata.author[eq], " in message
    message = api.post("/v1/content?title=x", {"title": "x"}).error["message"]
    assert message == "There is no query parameter 'title' here. This request takes none."
    for query in ("period=1w", "groupBy=year"):
        assert repr(query.partition("=")[2]) in api.get(f"/v1/analytics/usage?{query}").error["message"]


def test_a_parameter_unlike_any_other_names_those_there_are(api):
    for path in [*REPORTS, "/v1/content", "/v1/licenses", "/v1/wallets", "/v1/api-keys"]:
        message = api.get(f"{path}?q=x").error["message"]
        [known] = re.findall(r" Known: (.*)\.$", message)
        for name in known.split(", "):
            refused = api.get(f"{path}?{name}=%00")
            assert (refused.status, refused.error.get("kind")) == (400, "malformed"), name


def test_units_and_currencies_that_do_not_exist_are_corrected(api, account):
    known = {"accesses": " Did you mean `access`?", "usd": " Did you mean `USD`?", "credits": "", "XYZ": ""}
    for unit, hint in known.items():
        refused = api.post("/v1/wallets", {"requesterId": "org_a", "unit": unit})
        assert refused.status_and_param == (422, "unit")
        code = "the ISO 4217 code of a currency in use such as EUR"
        assert refused.error["message"] == f"Must be `access`, or {code}, not {unit!r}.{hint}"

    for currency, hint in (("jpy", " Did you mean `JPY`?"), ("Euro", " Did you mean `EUR`?"), ("XXX", "")):
        message = f"Must be the ISO 4217 code of a currency in use, such as EUR, not {currency!r}.{hint}"
        report = api.get(f"/v1/analytics/revenue?currency={currency}")
        assert report.status_and_param == (400, "currency")
        assert report.error["message"] == f"currency: {message}"
        price = {"amount": 5, "currency": currency}
        refused = api.post("/v1/licenses", {"requesterId": "a", "licenseType": "b", "price": price})
        assert (refused.error["param"], refused.error["message"]) == ("price.currency", message)


def test_the_error_of_a_malformed_key_describes_keys(connect, api):
    key = api.headers["Authorization"].removeprefix("Bearer ")
    for shown in ['"{key}"', "<{key}>", "Bearer {key}", "{key}x", "sk_live_abc"]:
        refused = connect(shown.format(key=key)).post("/v1/access/check", {})
        assert refused.status_and_code == (401, "invalid_api_key"), shown
        assert refused.error["message"] == (
            "This API key is not valid: it is mistyped or incomplete. "
            "A key is svc_sk_ or svc_pk_ and 34 letters and digits, without quotes or brackets."
        )
        assert key not in refused.content.decode(), shown
