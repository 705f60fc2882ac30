"""The demo's site: it observes, and has an access log of a month, which is imported as import_access_log does."""

import io
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from accounts.models import Account
from kit.values.networks import Address
from licensing.demo.story import CRAWLERS_PAY, OPEN, SITE, SITE_PAGES
from licensing.demo.visits import HOURS
from licensing.edge.verification.reverse_dns import AddressNames
from licensing.logs.importer import LogImport
from licensing.sites import services as site_services
from licensing.sites.models import Site
from licensing.sites.serializers import SiteSerializer

DAYS = 30
HOST = SITE.removeprefix("https://")
ROBOTS = "User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /archive/\n\nUser-agent: *\nDisallow: /search\n"
BROWSER = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"
CCBOT = "CCBot/2.0 (https://commoncrawl.org/faq/)"
# User-Agent, Referer and requests per day; crawlers read more of the archive than people do.
VISITORS = (
    ("Mozilla/5.0 (compatible; GPTBot/1.3; +https://openai.com/gptbot)", "", 24),
    ("Mozilla/5.0 (compatible; ClaudeBot/1.0; +claudebot@anthropic.com)", "", 17),
    (CCBOT, "", 5),
    ("Mozilla/5.0 (compatible; ChatGPT-User/1.0; +https://openai.com/bot)", "", 6),
    ("Mozilla/5.0 (compatible; PerplexityBot/1.0; +https://perplexity.ai/perplexitybot)", "", 5),
    ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "", 15),
    ("Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "", 7),
    (BROWSER, "https://www.google.com/", 12),
    (BROWSER, "https://www.bing.com/", 2),
    (BROWSER, "https://chatgpt.com/", 2),
    (BROWSER, "https://www.perplexity.ai/", 1),
    (BROWSER, "", 8),
)
GROWTH = 1.6  # by which visits of the last day exceed those of the first


NETWORK = "203.0.113."  # for documentation (RFC 5737), so no name server is asked
# The last parts of addresses.
CCBOT_HOST_PARTS = range(1, 10)
OTHER_HOST_PARTS = range(10, 255)


class InventedNames(AddressNames):
    """Names of the log's addresses: those of CCBot verify it, visitors at others prove nothing."""

    async def is_named_below(self, address: Address, hosts: tuple[str, ...]) -> bool:
        return "crawl.commoncrawl.org" in hosts and int(address.exploded.removeprefix(NETWORK)) in CCBOT_HOST_PARTS


def make_site(account: Account, policies: dict[str, str | None]) -> Site:
    """Create the site; `policies` are the ids of the demo's policies by name."""
    body = {
        "host": HOST,
        "name": "The Saltmarsh Review",
        "mode": "observe",
        "robotsTxt": ROBOTS,
        "linkUrl": f"{SITE}/licences",
        "linkLabel": "Get a licence",
        "rules": [
            {"pattern": "/archive/", "policyId": policies[CRAWLERS_PAY]},
            {"pattern": "/", "policyId": policies[OPEN]},
        ],
    }
    checked = SiteSerializer(data=body)
    checked.is_valid(raise_exception=True)
    return site_services.create_site(account.pk, checked.validated_data)


def import_log(site: Site, paths: list[str], random: Random, end: datetime, days: int) -> None:
    """Record the requests of the last `days`, at most DAYS."""
    text = "\n".join(log_lines(paths, random, end, min(days, DAYS)))
    LogImport(site, "combined", names=InventedNames()).run(io.BytesIO(text.encode()))


def log_lines(paths: list[str], random: Random, end: datetime, days: int) -> Iterator[str]:
    for day_index in range(days):
        begin = end - timedelta(days=days - day_index)
        growth = 1 + (GROWTH - 1) * day_index / days
        for agent, referer, usual in VISITORS:
            for _ in range(round(usual * growth * random.uniform(0.7, 1.3))):
                hour = random.choices(range(24), HOURS)[0]
                moment = begin + timedelta(hours=hour, seconds=random.randrange(3_600))
                is_crawler = agent != BROWSER
                in_archive = random.random() < (0.6 if is_crawler else 0.2)
                if in_archive:
                    path = f"/archive/{random.randrange(SITE_PAGES)}"
                else:
                    path = random.choice(["/", *paths])
                address = f"{NETWORK}{random.choice(CCBOT_HOST_PARTS if agent == CCBOT else OTHER_HOST_PARTS)}"
                request = f'[{moment:%d/%b/%Y:%H:%M:%S} +0000] "GET {path} HTTP/1.1"'
                yield f'{address} - - {request} 200 5120 "{referer or "-"}" "{agent}"'
