import json

import pytest

from licensing.edge.answers import MAX_BODY_IN_HEADER
from licensing.sites.refusal_page import wants_page
from licensing.sites.services import update_site
from tests.edge.asking import LICENSED, READERS
from tests.edge.refusals import ATTACK, BROWSER, DENY, HOSTILE, Parsed

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


def test_browsers_accept_html_by_name():
    for accept, expected in [
        (BROWSER, True), ("text/html", True), ("TEXT/HTML ; q=0.5", True), ("text/html,application/json", True),
        ("text/html;q=0.5,application/json", False), ("text/html;q=0", False), ("text/html;q=0.0,*/*", False),
        ("*/*", False), ("text/*", False), ("application/json", False), ("text/html;q=nonsense", True), ("", False),
        ("text/htmlx,x/text/html", False),
    ]:  # fmt: skip
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
    assert page.texts["p"][-1] == f"Reference: {reply.headers['X-Access-Id']}"
    assert page.resources == []
    site(PRICED)
    reply = ask("/premium/a", accept=BROWSER)
    assert (reply.status, reply.headers["crawler-price"]) == (402, "USD 0.015")
    assert "Price of one access: USD 0.015" in Parsed(reply.content.decode()).texts["p"]
    update_site(site({**READERS, "rateLimit": {"requests": 1, "period": "day"}}), TEXTS)
    replies = [ask("/premium/a", accept=BROWSER) for _ in range(2)]
    assert [reply.status for reply in replies] == [200, 429]
    assert int(replies[1].headers["Retry-After"]) > 0
    assert Parsed(replies[1].content.decode()).text("h1") == "The Daily"


def test_the_page_has_texts_of_rule_and_site_or_defaults(ask, site, api):
    for message, shown in [("Not for you.", "Not for you."), (None, TEXTS["refusal_message"])]:
        update_site(site({**DENY, **({"message": message} if message else {})}), TEXTS)
        assert Parsed(ask("/premium/a", accept=BROWSER).content.decode()).text("p") == shown
    site(DENY)
    page = Parsed(ask("/premium/a", accept=BROWSER).content.decode())
    assert (page.text("h1"), page.text("p"), page.links) == ("pub.example", "Access to this is denied.", [])
    update_site(site(DENY), {"link_url": "https://pub.example/abo"})
    page = Parsed(ask("/premium/a", accept=BROWSER).content.decode())
    assert page.links == [("https://pub.example/abo", "Get access")]
    own = site(DENY)
    for name in ("One", "Two"):
        update_site(own, {"name": name})
        assert Parsed(ask("/premium/a", accept=BROWSER).content.decode()).text("h1") == name
    api.patch(f"/v1/sites/{own.pk}", HOSTILE)
    page = Parsed(ask("/premium/a", accept=BROWSER).content.decode())
    assert (page.text("title"), page.text("h1"), page.text("p")) == (
        HOSTILE["name"],
        HOSTILE["name"],
        HOSTILE["refusalMessage"],
    )
    assert page.links == [(HOSTILE["linkUrl"], HOSTILE["linkLabel"])]
    assert page.tags == {"html", "head", "meta", "title", "style", "body", "main", "h1", "p", "a"}


def test_a_reader_whose_sign_in_has_ended_reads_no_word_about_tokens(ask, site):
    own = site({**READERS, "conditions": {"hasValidLicense": True}}, DENY)
    sent = {"accept": BROWSER, "authorization": "License nope"}
    assert Parsed(ask("/premium/a", **sent).content.decode()).text("p") == "Please sign in again."
    plain = ask("/premium/a", authorization="License nope")
    assert plain.error["message"] == "The licence token is malformed."
    update_site(own, TEXTS)
    ask("/premium/a")  # a decision reads the new texts
    reply = ask("/premium/a", **sent)
    assert (reply.status, Parsed(reply.content.decode()).text("p")) == (401, TEXTS["refusal_message"])


@pytest.mark.parametrize(("scheme", "status"), [("Negotiate", 402), ("Bearer", 402), ("License", 401)])
def test_only_a_licence_token_can_be_too_long_to_be_one(ask, site, scheme, status):
    site(LICENSED)
    reply = ask("/premium/a", authorization=f"{scheme} {'Y' * 7_500}")
    assert (reply.status, "X-Access-Id" in reply.headers) == (status, status == 402)


def test_nginx_gets_the_body_in_a_header_and_others_do_not(ask, site, api):
    for accept in [BROWSER, "*/*"]:
        own = site({**DENY, "message": (ATTACK + "\r\nX-Evil: 1\n" + "&<🗞>" * 200)[:500]})
        api.patch(f"/v1/sites/{own.pk}", HOSTILE)
        reply = ask("/premium/a", path="/v1/access/forward?deny=403", accept=accept)
        carried = reply.headers["X-Access-Body"].encode()
        assert (reply.status, carried) == (403, reply.content)
        assert 0 < len(carried) <= MAX_BODY_IN_HEADER
        assert not set(carried) & set(range(0x20))
    site(DENY)
    assert "X-Access-Body" not in ask("/premium/a", accept=BROWSER).headers
    reply = ask("/premium/a", accept=BROWSER, x_licensing_key="svc_sk_nope")
    assert (reply.status, reply.headers["Content-Type"]) == (401, "application/json")
    update_site(site(DENY), TEXTS)
    for status, headers in ((401, {"authorization": "License nope"}), (400, {"crawler_max_price": "nonsense"})):
        reply = ask("/premium/a", accept=BROWSER, **headers)
        assert (reply.status, Parsed(reply.content.decode()).text("h1")) == (status, "The Daily")
