"""Readers of the site: anonymous, from many addresses, with all spellings of URLs."""

from collections.abc import Iterator
from random import Random

from tests.world.caller import Caller, OldConnection, Reply
from tests.world.diary import Question
from tests.world.publisher import HOST, PAGES, Page
from tests.world.world import World

BROWSER = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"
METERED, RELOADS = Page("/metered/story-4"), 30
DAYS_OF_RELOADS = {1, 3}  # before the site is enforced, and after
OPEN_TO_ALL = "/robots.txt"
REFERRERS = {"chatgpt.com": "OpenAI", "www.perplexity.ai": "Perplexity", "blog.example": None, HOST: None}  # operators
# Spellings of a page in readers' links, all of which name the same page.
SPELLINGS = {
    "plain": "{path}",
    "campaign": "{path}?utm_source=mail&utm_medium=1",
    "slash": "{path}/",
    "both": "{path}/?utm_source=mail",
    "double": "/{path}",
    "escaped": "{escaped}",
    "dots": "/x/..{path}",
}


def spelled(page: Page, spelling: str) -> str:
    escaped = page.path.replace("s", "%73").replace("a", "%61")
    return SPELLINGS[spelling].format(path=page.path, escaped=escaped)


def read(world: World, day: int, visits: int) -> Iterator[Reply]:
    """Visit pages one by one as twenty readers, a fifth of the visits on the campus.

    On two days one reader reloads a page more often than its limit allows.
    """
    chance = world.random("readers", day)
    addresses = [f"127.0.{7 if n % 5 == 0 else 1}.{n + 1}" for n in range(20)]
    readers = {address: world.visitor(address, **{"User-Agent": BROWSER}) for address in addresses}
    for _ in range(RELOADS if day in DAYS_OF_RELOADS else 0):
        yield visit(world, readers[addresses[1]], METERED, chance)
    for _ in range(visits):
        address, page = chance.choice(addresses), chance.choice(PAGES)
        yield visit(world, readers[address], page, chance)
    for caller in readers.values():
        caller.close()


def visit(world: World, reader: Caller, page: Page, chance: Random) -> Reply:
    spelling = chance.choice(list(SPELLINGS)) if page.path != OPEN_TO_ALL else "plain"
    asked = Question("reader", "edge", "anonymous", page.item, page.path, "read", ip=reader.address)
    host, method = chance.choice([HOST, HOST, HOST.upper(), f"{HOST}."]), "GET"
    if chance.random() < 0.1:
        method, asked.is_free = "HEAD", True
    if chance.random() < 0.1:
        old = world.visitor(reader.address, **{"Host": HOST, "User-Agent": BROWSER})
        reply = old.send(method, spelled(page, spelling), connection_type=OldConnection)
    else:
        asked.referrer = chance.choice([None, None, *REFERRERS])
        sent = {"Referer": f"https://{asked.referrer}/a?b=c"} if asked.referrer else {}
        reply = reader.send(method, spelled(page, spelling), headers={"Host": host, **sent})
    return reply if page.path == OPEN_TO_ALL else world.diary.ask(asked, reply)
