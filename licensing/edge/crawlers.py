"""The table of known crawlers and of services that refer readers, with its date, and look-ups in it.

The shipped table has no addresses, because they change often: `address_lists` says where operators publish them, and
their files are loaded separately (licensing.edge.verification.published_addresses).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import cached_property, lru_cache
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from kit.http.headers import parse_address
from kit.values.networks import NetworkSet
from licensing.crawler_classes import ADMITTED_BY_NAME, CLASSES, OTHER

SHIPPED = Path(__file__).with_name("crawlers.json")
MAX_CRAWLERS = 1_000
MAX_USER_AGENT = 1000  # characters that are examined and recorded
MAX_CACHED_AGENTS = 2_000  # up to two megabytes
# The User-Agents of crawlers: signs of most, and the shipped table's others. The files of deploy/edge/ have it, too.
CRAWLERS = (
    "bot|crawl|spider|slurp|archiver|external|https?:|-(user|index|training)|google(other|-)|-google|chatgpt.agent|"
    "webindexer|kagi-|autorag|tabstack|cotoyogi|omgili|webzio-|yeti|productsearch|siteaudit|barkrowler|feedly|"
    "bingpreview|whatsapp"
)
search_signs = re.compile(CRAWLERS, re.IGNORECASE).search

Token = Annotated[str, Meta(min_length=3, max_length=100, pattern=r"^[\x21-\x7e]+( [\x21-\x7e]+)*$")]
Host = Annotated[str, Meta(max_length=253, pattern=r"^([a-z0-9-]+\.)+[a-z][a-z0-9-]*$")]
HostPattern = Annotated[str, Meta(max_length=253, pattern=r"^(\*\.)?([a-z0-9-]+\.)+([a-z][a-z0-9-]*|\*)$")]
Link = Annotated[str, Meta(max_length=2048, pattern=r"^https://[\x21-\x7e]+$")]
ReferrerKind = Literal["ai", "search"]
COUNTRY = r"(?:com|[a-z]{2}|com?\.[a-z]{2})"  # what the `*` of `google.*` stands for
CrawlerKind = Literal["crawler", "fetcher"]
Fact = Literal["operator", "class", "userAgent", "robotsToken", "addressLists", "hosts", "signatureAgent"]
RobotsToken = Annotated[str, Meta(min_length=2, max_length=100, pattern=r"^[A-Za-z0-9._-]+$")]
IS_ROBOTS_TOKEN = re.compile(r"[A-Za-z0-9._-]{2,100}").fullmatch


class Evidence(Struct, frozen=True, forbid_unknown_fields=True):
    """A source that states facts of a row, and the day on which it stated them."""

    facts: tuple[Fact, ...]
    url: Link
    date: date


class Crawler(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A known crawler and how to verify it.

    - `kind`: whether it collects pages by itself, or fetches one because somebody asks for it just then.
    - `user_agent`: the token in its User-Agent; None if only its `robots_token` exists.
    - `robots_token`: the token that it obeys in robots.txt, if that is not the one in its User-Agent.
    - `addresses`: the address ranges that its operator publishes.
    - `address_lists`: the JSON files in which its operator publishes them.
    - `hosts`: the domains of its addresses' reverse DNS names.
    - `signature_agent`: the host of the directory with its signing keys.
    - `sources`: further pages about it, without a date.
    """

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    crawler_class: str = msgspec.field(name="class")
    operator: Annotated[str, Meta(max_length=100)]
    user_agent: Token | None = None
    robots_token: RobotsToken | None = None
    addresses: tuple[str, ...] = ()
    hosts: tuple[Host, ...] = ()
    sources: tuple[str, ...] = ()
    signature_agent: Annotated[str, Meta(min_length=1, max_length=253)] | None = None
    address_lists: tuple[Link, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    kind: CrawlerKind = "crawler"

    def __post_init__(self) -> None:
        if self.crawler_class not in CLASSES:
            raise ValueError(f"Unknown class {self.crawler_class!r}. Classes: {', '.join(CLASSES)}.")

    @property
    def key(self) -> str:
        return self.name.lower()

    @property
    def permission(self) -> str:
        return "read" if self.crawler_class == OTHER else self.crawler_class

    @property
    def is_admitted_by_name(self) -> bool:
        """Whether a rule that names the crawler admits it, though only its User-Agent says who it is."""
        return self.crawler_class in ADMITTED_BY_NAME

    @property
    def product_token(self) -> str | None:
        """The token for robots.txt; None if its User-Agent has none that robots.txt can name."""
        token = self.robots_token or self.user_agent
        return token if token is not None and IS_ROBOTS_TOKEN(token) else None

    @property
    def all_sources(self) -> tuple[str, ...]:
        """The URLs of every source, each once."""
        return tuple(
            dict.fromkeys([*self.address_lists, *self.sources, *(statement.url for statement in self.evidence)])
        )


class Referrer(Struct, frozen=True, forbid_unknown_fields=True):
    """An AI or search service whose answers link to pages, and the hosts from which its users come.

    A host also counts with `www.` before it. `google.*` stands for every country's domain, `*.bing.com` for one label.
    """

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    kind: ReferrerKind
    operator: Annotated[str, Meta(min_length=1, max_length=100)]
    hosts: Annotated[tuple[HostPattern, ...], Meta(min_length=1)]
    evidence: tuple[Evidence, ...] = ()


class Table(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    date: date
    crawlers: tuple[Crawler, ...]
    referrers: tuple[Referrer, ...] = ()

    @cached_property
    def by_token(self) -> dict[str, Crawler]:
        return {crawler.user_agent.lower(): crawler for crawler in self.crawlers if crawler.user_agent is not None}

    @cached_property
    def tokens(self) -> re.Pattern[str]:
        """Matches any of the tokens as a whole word, longest first."""
        tokens = sorted(self.by_token, key=len, reverse=True)
        return re.compile(rf"(?<![a-z0-9])(?:{'|'.join(map(re.escape, tokens))})(?![a-z0-9])")

    @cached_property
    def networks(self) -> dict[str, NetworkSet]:
        return {crawler.key: NetworkSet(map(ip_network, crawler.addresses)) for crawler in self.crawlers}

    def claimed_by(self, user_agent: str) -> Crawler | None:
        """Return the crawler that a User-Agent claims to be; the first one if it names several."""
        return self.claims(user_agent[:MAX_USER_AGENT])

    @cached_property
    def claims(self) -> Callable[[str], Crawler | None]:
        """`find_claim` with a cache, because User-Agents repeat and the search takes as long as a decision."""
        return lru_cache(maxsize=MAX_CACHED_AGENTS)(self.find_claim)

    def find_claim(self, user_agent: str) -> Crawler | None:
        match = self.tokens.search(user_agent.lower()) if self.by_token else None
        return self.by_token[match[0]] if match else None

    @cached_property
    def by_directory(self) -> dict[str, Crawler]:
        """The crawlers by the hosts where their keys are published."""
        return {
            crawler.signature_agent.lower(): crawler
            for crawler in self.crawlers
            if crawler.signature_agent is not None
        }

    def is_at(self, crawler: Crawler, address: str | None) -> bool:
        """Whether the address is in a range that the crawler's operator publishes."""
        networks = self.networks[crawler.key]
        parsed = parse_address(address) if networks and address is not None else None
        return parsed is not None and parsed in networks

    @cached_property
    def by_requester(self) -> dict[str, Crawler]:
        """The crawlers by the ids of the requesters that they are decided as, verified or not."""
        return {f"{kind}:{crawler.key}": crawler for crawler in self.crawlers for kind in ("crawler", "unverified")}

    @cached_property
    def referrer_hosts(self) -> list[tuple[re.Pattern[str], str]]:
        return [(compile_host(host), host) for referrer in self.referrers for host in referrer.hosts]

    @cached_property
    def by_referrer_host(self) -> dict[str, Referrer]:
        return {host: referrer for referrer in self.referrers for host in referrer.hosts}

    def referring(self, host: str) -> str | None:
        """Return the table's host (or pattern) that a host of a Referer matches."""
        return next((listed for pattern, listed in self.referrer_hosts if pattern.fullmatch(host)), None)

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The domains of the DNS names of all crawlers' addresses."""
        return frozenset(host for crawler in self.crawlers for host in crawler.hosts)

    def with_addresses(self, published: Mapping[str, frozenset[str]]) -> "Table":
        """Return the table with additional addresses, given by crawler key."""
        none = frozenset[str]()
        merged = (
            tuple(sorted(published.get(crawler.key, none) | set(crawler.addresses))) for crawler in self.crawlers
        )
        pairs = zip(self.crawlers, merged, strict=True)
        crawlers = tuple(replace(crawler, addresses=addresses) for crawler, addresses in pairs)
        return Table(self.date, crawlers, self.referrers)


def parse_table(data: bytes) -> Table:
    """Parse and check a crawler table. Raises ValueError with the reason."""
    table = msgspec.json.decode(data, type=Table)
    if len(table.crawlers) > MAX_CRAWLERS:
        raise ValueError(f"It has {len(table.crawlers):,} crawlers. At most {MAX_CRAWLERS:,} are possible.")
    keys = [crawler.key for crawler in table.crawlers]
    tokens = [crawler.user_agent.lower() for crawler in table.crawlers if crawler.user_agent is not None]
    hosts = [host for referrer in table.referrers for host in referrer.hosts]
    for values in (keys, tokens, hosts):
        if repeated := [value for value, number in Counter(values).items() if number > 1]:
            raise ValueError(f"{repeated[0]} is there twice.")
    unnamed = [
        crawler.name for crawler in table.crawlers if crawler.user_agent is None and crawler.robots_token is None
    ]
    if unnamed:
        raise ValueError(f"{unnamed[0]} has neither userAgent nor robotsToken.")
    _ = table.networks  # raises ValueError for an invalid range
    return table


@lru_cache(MAX_CACHED_AGENTS)
def has_signs(user_agent: str) -> bool:
    """Return whether a User-Agent has signs of a crawler, listed or not."""
    return search_signs(user_agent) is not None


def lies_below(name: str, hosts: Iterable[str]) -> bool:
    """Return whether a DNS name is one of the domains or lies below one."""
    return any(name == host or name.endswith(f".{host}") for host in hosts)


def compile_host(host: str) -> re.Pattern[str]:
    """Compile a host of the table of referrers."""
    name = re.escape(host).replace(r"\*\.", r"[a-z0-9-]+\.")
    return re.compile(r"(?:www\.)?" + name.replace(r"\.\*", rf"\.{COUNTRY}"))
