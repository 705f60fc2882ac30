"""Crawlers of the site: a verified licensee, one that pays for each access, and others that only claim a name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

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


def claimed(name: str, permission: str, address: str) -> Crawler:
    """Return a crawler that only claims its name. It must pass the rules of the name's class and those for anybody."""
    user_agent = f"Mozilla/5.0 (compatible; {name}/1.0)"
    return Crawler(address, user_agent, f"unverified:{name.lower()}", permission, ("anonymous", "read"))


LICENSED = Crawler("127.0.9.2", "Mozilla/5.0 (compatible; GPTBot/1.3)", "crawler:gptbot", "ai_training")
PAYING = "Mozilla/5.0 (compatible; PerplexityBot/1.0)", "crawler:perplexitybot", "ai_input"
CRAWLERS = [
    LICENSED,
    Crawler("127.0.9.17", *PAYING),
    Crawler("127.0.9.18", *PAYING, None, Decimal("0.015"), {"crawler-exact-price": "USD 0.015"}),
    Crawler("127.0.9.19", *PAYING, None, Decimal("0.05"), {"crawler-max-price": "USD 0.05"}),
    Crawler("127.0.9.20", *PAYING, None, Decimal("0.01"), {"crawler-max-price": "USD 0.01"}),
    claimed("GPTBot", "ai_training", "127.0.3.1"),
    claimed("Googlebot", "search", "127.0.3.2"),
    claimed("PerplexityBot", "ai_input", "127.0.3.3"),
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
            world.diary.questions.append(asked.note(reply))
        yield reply
    for caller in callers.values():
        caller.close()
