"""Crawlers of the site: a verified licensee, one that pays for each access, and others that only claim a name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from tests.world.caller import Reply
from tests.world.diary import Question
from tests.world.publisher import HOST, PAGES
from tests.world.world import World


@dataclass(frozen=True, eq=False)
class Crawler:
    address: str
    user_agent: str
    requester: str
    permission: str
    further: tuple[str, str] | None = None
    offered: Decimal | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def documented_classes() -> dict[str, str]:
    """Return the class of each crawler, from the table in the documentation."""
    table = Path(__file__).parents[3] / "docs" / "reference" / "crawlers.md"
    rows = [line.split(" | ") for line in table.read_text().splitlines() if line.startswith("| ")]
    return {row[0].removeprefix("| "): row[2].strip("`") for row in rows if len(row) > 5}


CLASSES = documented_classes()


def verified(name: str, address: str, offered: str | None = None, header: str = "crawler-max-price") -> Crawler:
    """Return a crawler from one of its operator's addresses; `offered` is the price in USD that it sends."""
    headers = {header: f"USD {offered}"} if offered else {}
    price = Decimal(offered) if offered else None
    return Crawler(address, user_agent(name), f"crawler:{name.lower()}", CLASSES[name], None, price, headers)


def claimed(name: str, address: str) -> Crawler:
    """Return a crawler that only claims its name. It must pass the rules of the name's class and those for anybody."""
    return Crawler(address, user_agent(name), f"unverified:{name.lower()}", CLASSES[name], ("anonymous", "read"))


def user_agent(name: str) -> str:
    return f"Mozilla/5.0 (compatible; {name}/1.0)"


CRAWLERS = [
    verified("GPTBot", "127.0.9.2"),
    verified("PerplexityBot", "127.0.9.17"),
    verified("PerplexityBot", "127.0.9.18", "0.015", "crawler-exact-price"),
    verified("PerplexityBot", "127.0.9.19", "0.05"),
    verified("PerplexityBot", "127.0.9.20", "0.01"),
    claimed("GPTBot", "127.0.3.1"),
    claimed("Googlebot", "127.0.3.2"),
    claimed("PerplexityBot", "127.0.3.3"),
]


def crawl(world: World, day: int, visits: int) -> Iterator[Reply]:
    chance = world.random("crawlers", day)
    callers = {
        crawler: world.visitor(crawler.address, **{"Host": HOST, "User-Agent": crawler.user_agent, **crawler.headers})
        for crawler in CRAWLERS
    }
    for _ in range(visits):
        crawler, page = chance.choice(CRAWLERS), chance.choice(PAGES)
        reply = callers[crawler].send("GET", page.path)
        if page.path != "/robots.txt":
            asked = Question("crawler", "edge", crawler.requester, page.item, page.path, crawler.permission)
            asked.ip, asked.further, asked.offered = crawler.address, crawler.further, crawler.offered
            world.diary.ask(asked, reply)
        yield reply
    for caller in callers.values():
        caller.close()
