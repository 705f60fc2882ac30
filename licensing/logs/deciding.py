"""Decides requests of a log as of their time, as a site in observe mode would have."""

import dataclasses
from asyncio import Semaphore, gather
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

import orjson
from asgiref.sync import async_to_sync
from django.db import transaction
from msgspec import Struct

from accounts.models import Account, VisitorAddresses
from accounts.plans.epochs import current_epoch
from analytics.recording.past import PastDecision
from analytics.recording.statement import RATE_LIMIT_EXCEEDED
from kit.http.headers import parse_address
from kit.values import ids
from kit.values.decimals import from_millionths
from kit.values.networks import truncate_address
from kit.values.timestamps import as_django_writes, render_timestamp
from licensing.access.deciding import by_current_ids, decide_check, strictest_page
from licensing.access.facts import recorded_facts
from licensing.access.lookup.items import find_pages
from licensing.access.lookup.requesters import find_requesters, keep_requesters
from licensing.access.rendering import next_change
from licensing.access.subjects import Item, RequesterSnapshot
from licensing.edge.crawlers import MAX_USER_AGENT, Crawler
from licensing.edge.current_crawlers import current_table
from licensing.edge.original import FREE_METHODS, Original, referring_host, render_address
from licensing.edge.verification.reverse_dns import AddressNames
from licensing.edge.visitors import Visitor, can_be_charged, claimed_visitor, identify_address, verified_visitor
from licensing.logs.lines import decision_key
from licensing.logs.requests import Visit
from licensing.policies import rate_limits
from licensing.policies.modes import Mode
from licensing.policies.offers import price_at_stake
from licensing.policies.rules import VISITOR, RateLimit
from licensing.sites.identification import Identification
from licensing.sites.models import Site

PAGES_PER_QUERY = 500
MAX_CACHED = 200_000  # of pages, addresses and decisions in memory
LOOKUPS = 20  # reverse DNS lookups at a time
RESOLUTION = timedelta(microseconds=1)


class Limit(NamedTuple):
    """A rule's rate limit that decisions count on: of a requester, or of its visitors at one address."""

    requester: str
    policy: bytes | None
    counter: bytes
    limit: RateLimit


class Prepared(Struct, frozen=True, eq=False, gc=False):
    """A decision that holds for similar requests from `begin` until before `until`.

    `fields` are those of PastDecision from `account` to `permission`; `price` is currency and amount if a payer is
    refused.
    """

    fields: tuple[bytes, bytes, int, bytes | None, int | None, int | None, str | None]
    facts: dict[str, object]
    observed: str | None
    begin: datetime
    until: datetime | None
    limit: Limit | None
    price: tuple[str, Decimal] | None


class DecidedLine(Struct, frozen=True, gc=False):
    """A decision about a line, and what its counts need."""

    decision: PastDecision
    prepared: Prepared
    moment: datetime
    referrer: str | None


class LoggedPage(NamedTuple):
    """A page as it would be on a site in observe mode."""

    item: Item
    reads_address: bool  # whether one of its policies looks at the visitor's address, or counts by it


class Line(Struct, frozen=True, gc=False):
    number: int
    visit: Visit
    digest: bytes
    crawler: Crawler | None
    address: str
    url: str


class Decider:
    """Decide the requests of one site, caching look-ups."""

    def __init__(self, site: Site, *, dry_run: bool, names: AddressNames | None) -> None:
        self.site = site
        self.dry_run = dry_run
        self.names = names
        self.account = ids.decode("acc", site.account_id) or b""
        self.crawler_of = lru_cache(MAX_CACHED)(current_table.get().claimed_by)
        self.address_of = lru_cache(MAX_CACHED)(address_in_words)
        self.places: dict[tuple[str, str], Identification | None] = {}
        self.limits: Counter[tuple[str, bytes | None, bytes, int]] = Counter()
        self.forget()

    def forget(self) -> None:
        """Drop what depends on the account's policies, sites, items and requesters."""
        self.epoch = current_epoch(self.site.account_id)
        full = Account.objects.filter(pk=self.site.account_id, visitor_addresses=VisitorAddresses.FULL)
        self.stores_full_addresses = full.exists()
        self.pages: dict[str, LoggedPage | None] = {}
        self.requesters: dict[str, RequesterSnapshot] = {}
        self.prepared: dict[tuple[object, ...], Prepared] = {}

    def look_up(self, lines: Sequence[Line]) -> None:
        """Find the pages, crawlers' identities and requesters of these lines that are not known yet."""
        for remembered in (self.pages, self.places, self.prepared):
            if len(remembered) > MAX_CACHED:
                remembered.clear()
        urls = sorted({line.url for line in lines} - self.pages.keys())
        for start in range(0, len(urls), PAGES_PER_QUERY):
            batch = urls[start : start + PAGES_PER_QUERY]
            items = find_pages(self.site.account_id, batch)
            for url in batch:
                self.pages[url] = observed_page(items[url]) if url in items else None
        claims = {(line.crawler.key, line.address): line.crawler for line in lines if line.crawler is not None}
        unknown = {key: crawler for key, crawler in claims.items() if key not in self.places}
        if unknown:
            self.places.update(async_to_sync(verify)(unknown, self.names))
        by_identity = {
            None if line.crawler is None else (line.crawler.key, self.places[line.crawler.key, line.address]): line
            for line in lines
        }
        visitors = [self.identify(line) for line in by_identity.values()]
        names: dict[str | None, str | None] = dict.fromkeys(visitor.and_requester_id for visitor in visitors)
        names |= {visitor.id: visitor.name for visitor in visitors}
        missing = {id: name for id, name in names.items() if id and id not in self.requesters}
        if missing and self.dry_run:
            self.requesters |= find_requesters(self.site.account_id, missing)
        elif missing:
            with transaction.atomic():
                self.requesters |= keep_requesters(self.site.account_id, missing)

    def identify(self, line: Line) -> Visitor:
        identification = None if line.crawler is None else self.places[line.crawler.key, line.address]
        if line.crawler is None or identification is None:
            return claimed_visitor(line.crawler)
        return verified_visitor(line.crawler, identification)

    def decide_lines(self, lines: Iterable[Line]) -> list[DecidedLine]:
        """Decide requests that were looked up, without any access to the database."""
        return [decided for decided in map(self.decide, lines) if decided is not None]

    def decide(self, line: Line) -> DecidedLine | None:
        """Decide a request as of its time. Returns None for a page that no site decides about."""
        page = self.pages[line.url]
        visit = line.visit
        if page is None:
            return None
        crawler = None if line.crawler is None else line.crawler.key
        identification = None if crawler is None else self.places[crawler, line.address]
        address = line.address if page.reads_address else None
        key = (line.url, visit.method in FREE_METHODS, crawler, identification, address)
        prepared = self.prepared.get(key)
        if prepared is None or visit.moment < prepared.begin or (prepared.until and visit.moment >= prepared.until):
            prepared = self.prepared[key] = self.prepare(line, page.item)
        facts = dict(prepared.facts)
        keeps_address = crawler is not None or self.stores_full_addresses
        facts["ip"] = line.address if keeps_address else truncate_address(line.address)
        if visit.user_agent:
            facts["userAgent"] = visit.user_agent[:MAX_USER_AGENT].replace("\0", "")
        referrer = None
        if visit.referer and crawler is None and visit.method not in FREE_METHODS and not visit.is_by_crawler:
            referrer = referring_host(visit.referer, self.site.host)
            if referrer is not None:
                facts["referrer"] = referrer
        decision = PastDecision(
            decision_key(visit.moment, line.digest),
            *prepared.fields,
            facts=orjson.dumps(facts),
            created=created_text(visit.moment),
            observed=prepared.observed,
        )
        if prepared.limit is not None:
            self.count(decision, prepared.limit, visit.moment)
        return DecidedLine(decision, prepared, visit.moment, referrer)

    def prepare(self, line: Line, item: Item) -> Prepared:
        """Decide a request, and with it all requests that differ only in recorded details."""
        now = line.visit.moment
        visitor = self.identify(line)
        original = Original(line.url, line.visit.method, line.address)
        [check], known = by_current_ids([visitor.check(original, "")], self.requesters)
        requesters = {requester_id: requester_at(known[requester_id], now) for requester_id, _ in check.requesters}
        requester = requesters[check.requester_id]
        other_id = check.edge.and_requester_id if check.edge is not None else None
        other = None if other_id is None else requesters[other_id]
        page = strictest_page(check, item, requesters, now)
        answer = decide_check(check, page, requester, now, other)
        facts = {
            **recorded_facts(check, page, answer.facts, answer.requester_name, None),
            "imported": True,
        }
        facts.pop("ip", None)
        decision = answer.decision
        rule = answer.decision.rule
        limit = None
        rate_limit = None if rule is None else rate_limits.effective_limit(rule, answer.facts)
        if answer.rate_reset is not None and rule is not None and rate_limit is not None:
            counted_id = None if answer.facts.requester_id == check.requester_id else other_id
            policy = None if page.policy_key is None else bytes.fromhex(page.policy_key)
            counter = rate_limits.counter_key(rule, answer.facts)
            limit = Limit(counted_id or check.requester_id, policy, counter, rate_limit)
        is_at_stake = decision.observed and can_be_charged(check.requester_id)
        price = price_at_stake(answer.policy, answer.facts) if is_at_stake else None
        has_licenses = requester.licenses is not None or (other is not None and other.licenses is not None)
        return Prepared(
            fields=(
                self.account,
                bytes.fromhex(page.key),
                requester.pk or 0,
                None if page.policy_key is None else bytes.fromhex(page.policy_key),
                None if page.policy is None else page.policy.version,
                None if rule is None else rule.index,
                answer.facts.permission,
            ),
            facts=facts,
            observed=decision.observed or None,
            begin=now,
            # A licence may begin at any time.
            until=now + RESOLUTION if has_licenses else next_change(page.policy, answer.facts),
            limit=limit,
            price=None if price is None else (price.currency, from_millionths(price.amount)),
        )

    def count(self, decision: PastDecision, limit: Limit, moment: datetime) -> None:
        """Count a decision on a rate limit. Limits of past windows are counted within the import."""
        begin, end = rate_limits.limit_window(limit.limit.period, moment)
        name = (limit.requester, limit.policy, limit.counter, begin)
        used = self.limits[name] = self.limits[name] + 1
        decision.rate_remaining = max(limit.limit.requests - used, 0)
        decision.rate_reset = end
        if used > limit.limit.requests:
            decision.observed = RATE_LIMIT_EXCEEDED


def requester_at(requester: RequesterSnapshot, moment: datetime) -> RequesterSnapshot:
    """Return the requester with its licences as they were at the moment."""
    licenses = requester.licenses
    if licenses is None:
        return requester
    return dataclasses.replace(requester, licenses=licenses.as_of(moment))


def observed_page(item: Item) -> LoggedPage:
    policies = [reading.policy for reading in item.readings if reading.policy is not None]
    limits = [rule.rate_limit for policy in policies for rule in policy.rules if rule.rate_limit is not None]
    reads_address = any(policy.reads_address for policy in policies) or any(limit.per == VISITOR for limit in limits)
    return LoggedPage(observed_item(item), reads_address)


def observed_item(item: Item) -> Item:
    facts = {**item.facts, "mode": Mode.OBSERVE.value}
    others = tuple(map(observed_item, item.others))
    return dataclasses.replace(item, mode=Mode.OBSERVE.value, facts=facts, others=others)


def address_in_words(text: str) -> str | None:
    """Return an IP address in its usual form; None if the text is no address."""
    return render_address(parse_address(text))


@lru_cache(maxsize=10_000)
def created_text(moment: datetime) -> str:
    return as_django_writes(render_timestamp(moment) or "")


async def verify(
    claims: Mapping[tuple[str, str], Crawler], names: AddressNames | None
) -> dict[tuple[str, str], Identification | None]:
    """Return how each crawler's address verifies it, with a bounded number of DNS lookups at a time."""
    address_names = names or AddressNames()
    turns = Semaphore(LOOKUPS)

    async def identify(crawler: Crawler, address: str) -> Identification | None:
        async with turns:
            return await identify_address(crawler, address, address_names)

    identities = await gather(*(identify(crawler, address) for (_, address), crawler in claims.items()))
    return dict(zip(claims, identities, strict=True))
