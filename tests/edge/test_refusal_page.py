"""The page for denied readers: when browsers get it, and its content."""

import json

import pytest

from licensing.edge.answers import MAX_BODY_IN_HEADER
from licensing.sites.refusal_page import wants_page
from licensing.sites.services import update_site
from tests.edge.asking import READERS
from tests.edge.refusals import (
    ATTACK,
    BROWSER,
    DENY,
    HOSTILE,
    Parsed,
)

TEXTS = {
    "name": "The Daily",
    "refusal_message": "This article is for subscribers.",
    "link_url": "https://pub.example/subscribe?from=page&a=1",
    "link_label": "Subscribe",
}
PRICED = {
    "action": "allow",
    "conditions": {"default": True},
    "permissions": ["read"],
    "pricePerAccess": {"amount": "0.015", "currency": "USD"},
}


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (BROWSER, True),
        ("text/html", True),
        ("TEXT/HTML ; q=0.5", True),
        ("text/html,application/json", True),
        ("text/html;q=0.5,application/json", False),
        ("text/html;q=0", False),
        ("text/html;q=0.0,*/*", False),
        ("*/*", False),
        ("text/*", False),
        ("application/json", False),
        ("text/html;q=nonsense", True),
        ("", False),
        ("text/htmlx,x/text/html", False),
    ],
)
def test_browsers_accept_html_by_name(accept, expected):
    assert wants_page(accept) is expected


def test_a_browser_gets_the_sites_page(ask, site):
    update_site(site(PRICED | {"conditions": {"hasValidLicense": True}}, DENY), TEXTS)
    reply, plain = ask("/premium/a", accept=BROWSER), ask("/premium/a", accept="*/*")
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    assert plain.headers["Content-Type"] == "application/json"
    assert json.loads(plain.content)["error"]["type"] == "access_denied"
    assert reply.status == plain.status
    same = ("Link", "WWW-Authenticate", "crawler-price", "X-Access-Reason", "X-Access-Decision", "X-Access-Status")
    assert [reply.headers.get(name) for name in same] == [plain.headers.get(name) for name in same]
    assert {reply.headers["Vary"], plain.headers["Vary"]} == {"origin, accept"}
    page = Parsed(reply.content.decode())
    assert (page.text("title"), page.text("h1")) == ("The Daily", "The Daily")
    assert page.links == [(TEXTS["link_url"], "Subscribe")]
    assert page.resources == []


@pytest.mark.parametrize(("message", "shown"), [("Not for you.", "Not for you."), (None, TEXTS["refusal_message"])])
def test_the_rules_message_precedes_the_sites(ask, site, message, shown):
    update_site(site({**DENY, **({"message": message} if message else {})}), TEXTS)
    assert Parsed(ask("/premium/a", accept=BROWSER).content.decode()).text("p") == shown


def test_without_texts_the_page_has_the_host_and_no_link(ask, site):
    site(DENY)
    page = Parsed(ask("/premium/a", accept=BROWSER).content.decode())
    assert (page.text("h1"), page.text("p"), page.links) == ("pub.example", "Access to this is denied.", [])


def test_a_link_without_a_label_has_one(ask, site):
    update_site(site(DENY), {"link_url": "https://pub.example/abo"})
    page = Parsed(ask("/premium/a", accept=BROWSER).content.decode())
    assert page.links == [("https://pub.example/abo", "Get access")]


def test_a_price_is_named(ask, site):
    site(PRICED)
    reply = ask("/premium/a", accept=BROWSER)
    assert (reply.status, reply.headers["crawler-price"]) == (402, "USD 0.015")
    assert "Price of one access: USD 0.015" in Parsed(reply.content.decode()).texts["p"]


def test_a_used_up_limit_keeps_its_retry_after(ask, site):
    update_site(site({**READERS, "rateLimit": {"requests": 1, "period": "day"}}), TEXTS)
    replies = [ask("/premium/a", accept=BROWSER) for _ in range(2)]
    assert [reply.status for reply in replies] == [200, 429]
    assert int(replies[1].headers["Retry-After"]) > 0
    assert Parsed(replies[1].content.decode()).text("h1") == "The Daily"


def test_a_bad_token_and_a_bad_price_have_pages(ask, site):
    update_site(site(DENY), TEXTS)
    for status, headers in ((401, {"authorization": "License nope"}), (400, {"crawler_max_price": "nonsense"})):
        reply = ask("/premium/a", accept=BROWSER, **headers)
        assert (reply.status, Parsed(reply.content.decode()).text("h1")) == (status, "The Daily")


def test_a_changed_text_is_on_the_next_page(ask, site):
    own = site(DENY)
    for name in ("One", "Two"):
        update_site(own, {"name": name})
        assert Parsed(ask("/premium/a", accept=BROWSER).content.decode()).text("h1") == name


def test_an_error_of_the_question_is_json_for_everybody(ask, site):
    site(DENY)
    reply = ask("/premium/a", accept=BROWSER, x_licensing_key="svc_sk_nope")
    assert (reply.status, reply.headers["Content-Type"]) == (503, "application/json")


@pytest.mark.parametrize("accept", [BROWSER, "*/*"])
def test_nginx_gets_the_body_in_a_header(ask, site, api, accept):
    own = site({**DENY, "message": (ATTACK + "\r\nX-Evil: 1\n" + "&<🗞>" * 200)[:500]})
    api.patch(f"/v1/sites/{own.pk}", HOSTILE)
    reply = ask("/premium/a", path="/v1/access/forward?deny=403", accept=accept)
    carried = reply.headers["X-Access-Body"].encode()
    assert (reply.status, carried) == (403, reply.content)
    assert 0 < len(carried) <= MAX_BODY_IN_HEADER
    assert not set(carried) & set(range(0x20))


def test_other_proxies_get_no_refusal_page(ask, site):
    site(DENY)
    assert "X-Access-Body" not in ask("/premium/a", accept=BROWSER).headers


def test_publishers_texts_are_escaped_and_complete(ask, site, api):
    own = site(DENY)
    api.patch(f"/v1/sites/{own.pk}", HOSTILE)
    page = Parsed(ask("/premium/a", accept=BROWSER).content.decode())
    assert (page.text("title"), page.text("h1"), page.text("p")) == (
        HOSTILE["name"],
        HOSTILE["name"],
        HOSTILE["refusalMessage"],
    )
    assert page.links == [(HOSTILE["linkUrl"], HOSTILE["linkLabel"])]
    assert page.tags == {"html", "head", "meta", "title", "style", "body", "main", "h1", "p", "a"}
