from tests import factories
from tests.client import ApiClient


def test_a_preflight_is_answered_for_any_origin(anonymous):
    reply = anonymous.request(
        "OPTIONS",
        "/v1/content",
        headers={
            "Origin": "https://reader.example",
            "Access-Control-Request-Method": "GET",
            "Access-Control-Request-Headers": "authorization",
        },
    )
    assert reply.status == 200
    assert reply.headers["Access-Control-Allow-Origin"] == "*"
    assert "authorization" in reply.headers["Access-Control-Allow-Headers"]


def test_a_page_can_read_the_list_and_the_limits(account):
    public = ApiClient(factories.key_text(account, type="public"), Origin="https://reader.example")
    reply = public.get("/v1/content")
    assert reply.status == 200
    assert reply.headers["Access-Control-Allow-Origin"] == "*"
    assert "x-ratelimit-remaining" in reply.headers["Access-Control-Expose-Headers"]


def test_options_without_a_preflight_names_the_allowed_methods(api):
    reply = api.request("OPTIONS", "/v1/content")
    assert (reply.status, reply.headers["Allow"]) == (204, "GET, POST, HEAD")
