"""A licensee's crawler with a token from the licence server, and a partner with an API key."""

from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import urlencode
from xml.etree import ElementTree

from tests.world.caller import Caller, Reply
from tests.world.diary import Question
from tests.world.publisher import HOST, PAGES
from tests.world.world import World

RSL = "{https://rslstandard.org/rsl}"
VANDELAY, ADDRESS = "org_vandelay", "127.0.5.1"
COVERED = "/premium/"


def read(world: World, day: int, visits: int) -> Iterator[Reply]:
    """Get a token in the morning and read with it; yesterday's has expired."""
    chance = world.random("licensees", day)
    reply = ask_token(world)
    if world.diary.licenses[world.clients[VANDELAY]["license"]].between(reply.begun, reply.ended)[0].get("revokedAt"):
        world.diary.promise("the licensee", "there is no token for a revoked licence", 401, reply.status)
        return
    assert reply.status == 200, reply.content
    token = reply.body["access_token"]
    caller = world.visitor(ADDRESS, Host=HOST, Authorization=f"License {token}")
    pages = [page for page in PAGES if page.path.startswith(COVERED)]
    license_id = world.clients[VANDELAY]["license"]
    for _ in range(visits):
        page = chance.choice(pages)
        asked = Question("licensee", "edge", VANDELAY, page.item, page.path, "read", ip=ADDRESS, license=license_id)
        yield world.diary.ask(asked, caller.send("GET", page.path))
    world.clients[VANDELAY]["former"] = token
    caller.close()


def ask_token(world: World) -> Reply:
    """Follow RSL: get the terms from the site, then a token from the licence server that accepts them."""
    client = world.clients[VANDELAY]
    site = world.visitor(ADDRESS, Host=HOST)
    terms = site.send_until_answered("GET", "/license.xml")
    assert terms.status == 200, terms.content
    root = ElementTree.fromstring(terms.content)  # noqa: S314 - of our own service
    [content] = [one for one in root if one.attrib["url"].removesuffix("*").endswith(f"{HOST}{COVERED}")]
    fields = {
        "grant_type": "client_credentials",
        "resource": content.attrib["url"],
        "license": ElementTree.tostring(content.find(f"{RSL}license") or content, encoding="unicode"),
    }
    basic = b64encode(f"{client['id']}:{client['secret']}".encode()).decode()
    headers = {"Authorization": f"Basic {basic}", "Content-Type": "application/x-www-form-urlencoded"}
    server = Caller(world.clock, world.service.port, headers=headers)
    return server.send_until_answered("POST", "/olp/token", urlencode(fields).encode())


def show_former_token(world: World) -> None:
    """Use an expired token (they last an hour). While the site only observes, that is an ordinary visit."""
    former = world.clients[VANDELAY].get("former")
    if former:
        caller = world.visitor(ADDRESS, Host=HOST, Authorization=f"License {former}")
        # For seconds after an outage the proxy refuses every closed page without asking the service.
        caller.send_until_answered("GET", "/license.xml")
        [page] = [one for one in PAGES if one.path == f"{COVERED}story-4"]
        found = caller.send("GET", page.path)
        said = (found.status, "www-authenticate" in found.headers)
        if world.diary.sites[HOST].between(found.begun, found.ended)[0]["mode"] == "enforce":
            world.diary.promise("the licensee", "yesterday's licence token is refused", (401, True), said)
            # A process that has not met the enforcement yet takes the page for an open one, and records its denial
            # before it refuses the token. So there may be a decision: as of a question whose answer was lost.
            found = Reply(found.begun, found.ended)
        else:
            world.diary.promise("the licensee", "a site in observe mode refuses no token", (200, False), said)
        asked = Question("licensee", "edge", "anonymous", page.item, page.path, "read", ip=ADDRESS)
        world.diary.ask(asked, found)
