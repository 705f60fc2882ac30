"""The page that denied browsers get through each proxy."""

import pytest

from tests.edge.refusals import BROWSER, HOSTILE, Parsed
from tests.faults.proxies.pages import FORGED

SHOWN = ("link", "www-authenticate", "crawler-price", "crawler-error", "accept-signature", "retry-after")
STATUSES = {"/licensed/a": 402, "/priced/a": 402, "/searched/a": 403, "/licensed/a.html": 402, "/licensed/a.json": 402}


@pytest.fixture
def texts(site, publisher):
    """Set the site's own texts, and remove them at the end."""
    own = {"name": "Zeitung für Ø & 報道 <b>", "linkUrl": "https://pub.example/abo?a=1&b=2", "linkLabel": "Abonnieren"}
    site.patch(f"/sites/{publisher.site_id}", json=own).raise_for_status()
    yield own
    site.patch(f"/sites/{publisher.site_id}", json=dict.fromkeys(own)).raise_for_status()


def test_a_browser_gets_a_page_and_the_status_and_headers_of_the_decision(visit, texts):
    for path, status in STATUSES.items():
        reply, other = visit.get(path, headers={"Accept": BROWSER}), visit.get(path)
        assert (path, reply.status_code, other.status_code) == (path, status, status)
        assert reply.headers["Content-Type"].lower() == "text/html; charset=utf-8"
        assert other.headers["Content-Type"] == "application/json"
        for name in SHOWN:
            assert (path, name, reply.headers.get(name)) == (path, name, other.headers.get(name))
        assert other.headers["X-Access-Id"].startswith("dec_")
        page = Parsed(reply.text)
        assert page.text("h1") == texts["name"]
        assert f"Reference: {reply.headers['X-Access-Id']}" in page.texts["p"]
        assert page.links == [(texts["linkUrl"], texts["linkLabel"])]
        assert page.text("p").startswith("Not for you." if path.startswith("/licensed") else "")


def test_a_used_up_limit_and_a_bad_token_have_a_page(visit, proxy, texts):
    replies = [visit.get(f"/paged/{proxy.name}/a", headers={"Accept": BROWSER}) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [200, 429]
    assert int(replies[-1].headers["Retry-After"]) > 0
    assert Parsed(replies[-1].text).text("h1") == texts["name"]

    visit.get("/licensed/a")  # a decision reads the new texts; a refused token alone may be answered with older facts
    reply = visit.get("/licensed/a", headers={"Accept": BROWSER, "Authorization": "License nope"})
    assert (reply.status_code, reply.headers["WWW-Authenticate"][:14]) == (401, "License error=")
    assert Parsed(reply.text).text("h1") == texts["name"]


def test_the_longest_and_most_hostile_texts_come_whole(visit, site, publisher):
    try:
        site.patch(f"/sites/{publisher.site_id}", json=HOSTILE).raise_for_status()
        page = Parsed(visit.get("/searched/a", headers={"Accept": BROWSER}).text)
        assert page.text("h1") == HOSTILE["name"]
        assert page.text("p") == HOSTILE["refusalMessage"]
        assert page.links == [(HOSTILE["linkUrl"], HOSTILE["linkLabel"])]
        assert not {"script", "img", "iframe"} & page.tags
    finally:
        site.patch(f"/sites/{publisher.site_id}", json=dict.fromkeys(HOSTILE)).raise_for_status()


def test_no_visitor_puts_words_into_the_page(visit, texts):
    forged = {"X-Access-Body": "forged", "X_Access_Body": "forged", "Content-Type": "text/html"}
    for headers in ({**FORGED, **forged}, {**FORGED, **forged, "Accept": BROWSER}):
        reply = visit.get("/licensed/a?name=forged", headers=headers)
        assert (reply.status_code, b"forged" in reply.content) == (402, False)
    for path in ("/_access", "/denied", "/denied.html", "/@denied"):
        reply = visit.get(path, headers={"Accept": BROWSER, "X-Access-Body": "forged"})
        assert (path, reply.status_code) in ((path, 200), (path, 404))
        assert "x-access-body" not in reply.headers


def test_the_body_travels_in_no_header_and_head_and_post_are_refused_as_before(visit):
    for headers in ({}, {"Accept": BROWSER}):
        assert not [name for name in visit.get("/licensed/a", headers=headers).headers if "body" in name.lower()]
    assert visit.head("/searched/a", headers={"Accept": BROWSER}).content == b""
    posted = visit.post("/licensed/a", headers={"Accept": BROWSER}, content=b"a" * 5_000)
    assert (posted.status_code, Parsed(posted.text).text("h1")) == (402, "pub.example")
