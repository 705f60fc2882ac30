"""A site's generated proxy file: while the service is down, only its open pages can be read."""

import pytest

from tests.faults.harness import eventually
from tests.faults.proxies.conftest import NOBODY, READERS
from tests.faults.proxies.pages import FROM_THE_ORIGIN, exchange
from tests.faults.proxies.programs import HOST, Place, running
from tests.services import free_port

HOSTILE = [
    '/a"b', "/a'b", "/a`b", "/a{env.HOME}b", "/a%24HOME", "/a;return%20200", "/a\\b", "/(a|licensed)/", "/.*",
    "/[l]icensed", "/licensed|", "/%6cicensed/%2e%2e%2e/x", "/ü", "/a}", "/a%20b", "/d//b", "/*/*/*/*/*/x", "/+a",
]  # fmt: skip
ALIAS = f"www.{HOST}"
LONG = f"/{'long-' * 30}"
OPENED = [
    f"{LONG}/a",
    "/open/a",
    "/open/a?x=1",
    "/open/",
    "/about",
    "/about-us",
    "/blog/2026/x.html",
    "/news",
    "/news/a/b",
    "/news/a,b:c@d~e!",
    "/~open",
]
CLOSED = [
    f"/news{LONG}",
    "/licensed/a", "/priced/a", "/news/secret", "/news/secret/a", "/news/Secret", "/blog/x.html.pdf", "/blog/x.pdf",
    "/open/../licensed/a", "/open/%2e%2e/licensed/a", "/open/..;/licensed/a", "/open//licensed/a", "/open/.a", "/o",
    "/licensed/a?/open/a", "//open/a", "/news/a+b", "/news/a%20b", "/news/(S(a))/secret",
    "/news/s,ecret", "/open/item", "/open/item?x", "/assets/a.css", "/elsewhere",
]  # fmt: skip
MERGED = ["/open//licensed/a", "//open/a"]  # the origin gets the path with single slashes
# READERS lets nobody search, train or archive; `other` crawlers read.
CRAWLERS = ["GPTBot", "Mozilla/5.0 (compatible; gptbot/1.2)", "ChatGPT Agent/1", "Googlebot"]
PEOPLE = ["", "Mozilla/5.0 (X11; Linux x86_64) Chrome/131"]
READING = [*PEOPLE, "Feedly/1.0", "NotGPTBots/1"]


@pytest.fixture
def generated(proxy, site, publisher):
    """The generated file of a site with open, closed and odd patterns."""
    if proxy.name == "workerd":
        pytest.skip("The Worker has no file of its own: OPEN_PATHS is a variable.")
    everybody = site.post("/policies", json={"name": "Everybody", "rules": [READERS]}).json()["id"]
    nobody = site.post("/policies", json={"name": "Nobody", "rules": [NOBODY]}).json()["id"]
    own = site.get(f"/sites/{publisher.site_id}").json()
    opened = [
        "/about",
        "/~open",
        "/blog/*.html$",
        "/news",
        f"{LONG}/",
        *HOSTILE,
        *(f"/many/{number}/" for number in range(100)),
    ]
    rules = [*own["rules"], *({"pattern": pattern, "policyId": everybody} for pattern in opened)]
    rules += [
        {"pattern": pattern, "policyId": nobody} for pattern in ("/news/secret", "/news/s,ecret", f"/news{LONG}")
    ]
    item = site.post("/content", json={"title": "Closed", "source": f"https://{HOST}/open/item", "policyId": nobody})
    item.raise_for_status()
    changed = site.patch(f"/sites/{publisher.site_id}", json={"rules": rules, "unknown": "deny", "aliases": [ALIAS]})
    assert changed.status_code == 200, changed.text
    reply = site.get(f"/sites/{publisher.site_id}/proxy-config", params={"for": proxy.name})
    yield reply.json()
    restored = {name: own[name] for name in ("rules", "unknown", "aliases")}
    site.patch(f"/sites/{publisher.site_id}", json=restored).raise_for_status()
    site.delete(f"/content/{item.json()['id']}").raise_for_status()


def visit(port: int, path: str, agent: str = "Mozilla/5.0", host: str = HOST) -> bytes:
    head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {agent}\r\nConnection: close\r\n\r\n"
    return exchange(port, head.replace("User-Agent: \r\n", "").encode())


def ask(port: int, path: str, agent: str = "Mozilla/5.0") -> bool:
    return FROM_THE_ORIGIN in visit(port, path, agent)


def test_open_patterns_stay_open_and_others_closed(generated, proxy, server, publisher, origin, tmp_path):
    at = Place(publisher.edge_key, server.port, origin, free_port(), tmp_path, generated=generated["content"])
    with running(proxy, at):
        assert (ask(at.port, "/open/a"), ask(at.port, "/licensed/a")) == (True, False)
        at_alias = [visit(at.port, path, host=ALIAS) for path in ("/open/a", "/licensed/a")]
        assert [FROM_THE_ORIGIN in reply for reply in at_alias] == [True, False]
        assert FROM_THE_ORIGIN not in visit(at.port, "/open/a", host=f"x{HOST}")
        private = b"cache-control: private"
        assert private in visit(at.port, f"/metered/{proxy.name}/generated")
        assert private not in visit(at.port, "/open/a")
        server.kill()
        try:
            opened = {path: ask(at.port, path) for path in OPENED + CLOSED}
            metered = visit(at.port, f"/metered/{proxy.name}/generated")
            assert FROM_THE_ORIGIN in metered
            assert private in metered
            by_agent = {agent: ask(at.port, "/open/a", agent) for agent in (*CRAWLERS, *READING)}
            assert ask(at.port, "/robots.txt", "GPTBot/1.0")
        finally:
            server.start()
        assert eventually(lambda: ask(at.port, "/open/a"), 30)
    merged = MERGED if proxy.merges_slashes else []
    assert opened == {path: path in (*OPENED, *merged) for path in OPENED + CLOSED}
    assert by_agent == {agent: agent in READING for agent in (*CRAWLERS, *READING)}
    told = {one["pattern"] for one in generated["omitted"]} | set(generated["openPatterns"])
    assert set(HOSTILE) <= told
