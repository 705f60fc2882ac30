import re
from urllib.parse import quote

import pytest

REPORTS = [f"/v1/analytics/{name}" for name in ("usage", "revenue", "pages", "crawlers", "visitors", "observed")]


def test_days_and_windows_of_reports_show_the_value_and_an_example(api):
    for name in ("startDate", "endDate"):
        for path in REPORTS:
            refused = api.get(f"{path}?{name}=01/02/2026")
            assert (refused.status, refused.error["param"]) == (400, name)
            assert refused.error["message"].startswith(f"{name}: ")
            assert "'01/02/2026'" in refused.error["message"]
            for example in re.findall(r"\d{4}-[\dT:Z-]+", refused.error["message"]):
                assert api.get(f"{path}?startDate={example}&endDate={example}").status == 200

    for path in REPORTS:
        refused = api.get(f"{path}?startDate=2026-03-01&endDate=2026-02-01")
        assert (refused.status, refused.error["param"]) == (400, "startDate")
        assert refused.error["message"] == (
            "startDate is after endDate 2026-02-01: 2026-03-01. Give an earlier startDate."
        )

    message = api.get("/v1/analytics/usage?startDate=2999-01-01").error["message"]
    assert re.fullmatch(
        r"startDate is after today, \d{4}-\d\d-\d\d: 2999-01-01\. Give an earlier startDate\.", message
    )


@pytest.mark.parametrize("path", [*(f"{path}?startDate=" for path in REPORTS), "/v1/content?created[gte]="])
@pytest.mark.parametrize("text", ["2026-01-31T12:00:00", "2026-01-31 12:00", "20260131T1200", "2026-01-31T12:00:00.5"])
def test_a_time_without_offset_gets_one(api, path, text):
    refused = api.get(path + quote(text))
    assert refused.status == 400
    assert repr(text) in refused.error["message"]
    [example] = re.findall(r"as in (\S+Z)\.$", refused.error["message"])
    assert api.get(path + example).status == 200


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


@pytest.mark.parametrize("path", [*REPORTS, "/v1/content", "/v1/licenses", "/v1/wallets", "/v1/api-keys"])
def test_a_parameter_unlike_any_other_names_those_there_are(api, path):
    message = api.get(f"{path}?q=x").error["message"]
    [known] = re.findall(r" Known: (.*)\.$", message)
    for name in known.split(", "):
        refused = api.get(f"{path}?{name}=%00")
        assert (refused.status, refused.error.get("kind")) == (400, "malformed"), name


def test_units_and_currencies_that_do_not_exist_are_corrected(api, account):
    for unit, hint in (
        ("accesses", " Did you mean `access`?"),
        ("usd", " Did you mean `USD`?"),
        ("credits", ""),
        ("XYZ", ""),
    ):
        refused = api.post("/v1/wallets", {"requesterId": "org_a", "unit": unit})
        assert (refused.status, refused.error["param"]) == (422, "unit")
        assert refused.error["message"] == (
            f"Must be `access`, or the ISO 4217 code of a currency in use such as EUR, not {unit!r}.{hint}"
        )

    for currency, hint in (("jpy", " Did you mean `JPY`?"), ("Euro", " Did you mean `EUR`?"), ("XXX", "")):
        message = f"Must be the ISO 4217 code of a currency in use, such as EUR, not {currency!r}.{hint}"
        report = api.get(f"/v1/analytics/revenue?currency={currency}")
        assert (report.status, report.error["param"], report.error["message"]) == (
            400,
            "currency",
            f"currency: {message}",
        )
        price = {"amount": 5, "currency": currency}
        refused = api.post("/v1/licenses", {"requesterId": "a", "licenseType": "b", "price": price})
        assert (refused.error["param"], refused.error["message"]) == ("price.currency", message)


@pytest.mark.parametrize("shown", ['"{key}"', "<{key}>", "Bearer {key}", "{key}x", "sk_live_abc"])
def test_the_error_of_a_malformed_key_describes_keys(connect, api, shown):
    key = api.headers["Authorization"].removeprefix("Bearer ")
    refused = connect(shown.format(key=key)).post("/v1/access/check", {})
    assert (refused.status, refused.error["code"]) == (401, "invalid_api_key")
    assert refused.error["message"] == (
        "This API key is not valid: it is mistyped or incomplete. "
        "A key is svc_sk_ or svc_pk_ and 34 letters and digits, without quotes or brackets."
    )
    assert key not in refused.content.decode()
