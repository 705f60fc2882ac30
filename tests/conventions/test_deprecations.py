import orjson
import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from prometheus_client import REGISTRY

from config.pages import openapi_document
from kit.http.deprecations import parse
from tests import factories

LINK = "https://docs.example/moving"
HEADERS = ("Deprecation", "Sunset", "Link")


@pytest.fixture
def deprecate(settings):
    def mark(operation, since="2026-12-01", **entry):
        settings.DEPRECATIONS = parse(orjson.dumps([{"operation": operation, "since": since, **entry}]).decode())
        openapi_document.cache_clear()

    yield mark
    openapi_document.cache_clear()


def told(reply):
    return [reply.headers.get(name) for name in HEADERS]


def counted(name, account):
    labels = {"deprecated": name, "account": account.pk}
    return REGISTRY.get_sample_value("licensing_deprecated_calls_total", labels) or 0


def test_a_deprecated_operation_is_reported_and_counted(api, account, deprecate):
    assert told(api.get("/v1/content")) == [None] * 3
    item = factories.content(account)
    deprecate("GET /v1/content/{id}", sunset="2027-06-30T23:59:59Z", link=LINK)
    before = counted("GET /v1/content/{id}", account)
    assert told(api.get(f"/v1/content/{item.pk}")) == [
        "@1796083200",
        "Wed, 30 Jun 2027 23:59:59 GMT",
        f'<{LINK}>; rel="deprecation"; type="text/html", <{LINK}>; rel="sunset"; type="text/html"',
    ]
    assert told(api.get("/v1/content/cnt_x"))[0] == "@1796083200"  # a 404, too
    assert told(api.get("/v1/content")) == told(api.patch(f"/v1/content/{item.pk}", {})) == [None] * 3
    assert counted("GET /v1/content/{id}", account) == before + 2


def test_a_deprecated_parameter_or_field_is_reported_to_its_senders(api, account, deprecate):
    deprecate("GET /v1/content", parameter="type")
    assert [
        told(api.get(f"/v1/content{query}"))[0] for query in ("", "?type=article", "?type[ne]=video", "?limit=1")
    ] == [None, "@1796083200", "@1796083200", None]

    for field, body in (
        ("source", {"source": "https://a.example/b"}),
        ("metadata.author", {"metadata": {"author": "Ada", "x": 1}}),
    ):
        deprecate("POST /v1/content", field=field)
        assert told(api.post("/v1/content", {"title": "A", "metadata": {"x": 1}})) == [None] * 3
        assert told(api.post("/v1/content", {"title": "A", **body}))[0] == "@1796083200"
        assert api.post("/v1/content", b"{").status == 400


@pytest.mark.django_db(transaction=True)
def test_a_check_reports_deprecations(connect, account, deprecate):
    api, item = connect(factories.key_text(account)), factories.content(account)
    body = {"contentId": item.pk, "requester": "a"}
    for entry, used, unused in (
        ({}, body, None),
        ({"field": "requester.name"}, {**body, "requester": {"id": "a", "name": "A"}}, body),
    ):
        deprecate("POST /v1/access/check", **entry)
        assert told(api.post("/v1/access/check", used))[0] == "@1796083200"
        assert unused is None or told(api.post("/v1/access/check", unused)) == [None] * 3
    deprecate("POST /v1/access/check")
    assert told(api.post("/v1/access/check", {}))[0] == "@1796083200"


def test_of_several_the_earliest_dates_count(api, settings):
    since = [{"operation": "GET /v1/content", "since": "2027-01-01", "link": f"{LINK}/a"}]
    since += [{"operation": "GET /v1/content", "parameter": "limit", "since": "2026-12-01", "link": f"{LINK}/b"}]
    settings.DEPRECATIONS = parse(orjson.dumps(since).decode())
    date, sunset, link = told(api.get("/v1/content", limit="1"))
    assert (date, sunset) == ("@1796083200", None)
    assert [part.split(">")[0][-2:] for part in link.split(", ")] == ["/a", "/b"]


@pytest.mark.slow
def test_the_openapi_document_marks_it(deprecate):
    deprecate("GET /v1/content/{id}", sunset="2027-06-30")
    operation = openapi_document()["paths"]["/v1/content/{id}"]["get"]
    assert (operation["deprecated"], operation["x-sunset"]) == (True, "2027-06-30")
    deprecate("GET /v1/content", parameter="type")
    operation = openapi_document()["paths"]["/v1/content"]["get"]
    assert "deprecated" not in operation
    marked = {one["name"] for one in operation["parameters"] if one.get("deprecated")}
    assert {"type", "type[ne]"} <= marked
    assert all(name.startswith("type") for name in marked)
    deprecate("POST /v1/content", field="metadata.author")
    assert '"deprecated":true' in orjson.dumps(openapi_document()["components"]["schemas"]).decode()


def test_invalid_settings_are_refused_at_start(deprecate):
    for text, problem in (
        ("{}", "array"),
        ("[1]", "objects"),
        ('[{"operation": "GET content", "since": "2026-12-01"}]', "operation"),
        ('[{"operation": "GET /v1/content"}]', "since"),
        ('[{"operation": "GET /v1/content", "since": "soon"}]', "no date"),
        ('[{"operation": "GET /v1/content", "since": "2026-12-01", "sunset": "2026-11-01"}]', "not before"),
        ('[{"operation": "GET /v1/content", "since": "2026-12-01", "param": "x"}]', "param"),
        ('[{"operation": "GET /v1/content", "since": "2026-12-01", "link": "no"}]', "URL"),
        ('[{"operation": "GET /v1/content", "since": "2026-12-01", "field": "a", "parameter": "b"}]', "both"),
    ):
        with pytest.raises(ValueError, match=problem):
            parse(text)
    deprecate("GET /v1/contents")
    with pytest.raises(SystemCheckError, match="/v1/contents"):
        call_command("check")
    deprecate("GET /v1/content/{id}")
    call_command("check")
