"""Decides and records the requests of an access log as a proxy in observe mode would have: nothing is charged.

Policies and sites are those of now; dates, schedules and licences are those of each request's time. The id of a
decision follows from its line, so lines that are imported again change nothing.
"""

import dataclasses
import re
from asyncio import Semaphore, gather
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import chain, islice
from typing import BinaryIO, NamedTuple

import orjson
from asgiref.sync import async_to_sync
from cachetools import LRUCache
from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from analytics.events.partitions import ensure_partitions, month_of
from analytics.models import EventHorizon
from analytics.recording.past import PastDecision, is_recorded, record_past
from analytics.recording.statement import RATE_LIMIT_EXCEEDED
from kit.http.errors import InvalidRequest
from kit.http.middleware import parse_address
from kit.storage.sqlite_turns import turn_to_write
from kit.values import ids
from kit.values.decimals import from_millionths
from kit.values.hosts import host_of_header
from kit.values.timestamps import as_django_writes, render_timestamp
from licensing.access.decisions import by_current_ids, decide_check, strictest_page
from licensing.access.facts import recorded_facts
from licensing.access.lifetimes import next_change
from licensing.access.lookup import current_epoch, find_pages, find_requesters, keep_requesters
from licensing.access.subjects import Item, RequesterSnapshot
from licensing.edge.crawlers import MAX_USER_AGENT, Crawler, current_table
from licensing.edge.observed import shown
from licensing.edge.original import FREE_METHODS, MAX_URI, Original, escape_uri, in_words, referring_host
from licensing.edge.verification.reverse_dns import AddressNames
from licensing.edge.visitors import Visitor, claimed_visitor, place_of
from licensing.logs.formats import LogFormat, Malformed, Visit, detect, parser_of
from licensing.logs.lines import Occurrences, decision_key, read_lines
from licensing.policies import rate_limits
from licensing.policies.modes import Mode
from licensing.policies.offers import offers
from licensing.policies.rules import RateLimit
from licensing.sites.identification import Identification
from licensing.sites.models import Site
from licensing.visits.counting import count_visits, decisions, keep
from licensing.visits.figures import Visits
from licensing.visits.models import VisitsCounted
from licensing.visits.pages import Found, Referred, VisitKey, keep_pages, with_violations

CHUNK = 10_000  # lines per transaction
PAGES_PER_QUERY = 500
LINES_TO_DETECT = 100
MOST_PROBLEMS = 100  # malformed lines that the result lists
MOST_REMEMBERED = 200_000  # of pages, addresses and decisions in memory
LOOKUPS = 20  # reverse DNS lookups at a time
AHEAD = timedelta(minutes=1)  # clocks may differ
HOUR = timedelta(hours=1)
RESOLUTION = timedelta(microseconds=1)
# Pages that the files in deploy/edge/ do not ask about.
ASSET = re.compile(
    r"/(assets|static)(/[\w-]+)*/[\w-][\w.-]*\.(css|js|mjs|map|woff2?|ttf|otf|ico|svg|png|jpe?g|gif|webp|avif)(\?|$)",
    re.ASCII,
)

Progress = Callable[["LogTotals"], object]


class Limit(NamedTuple):
    """A rule's rate limit that decisions count on, and the requester that they count for."""

    requester: str
    policy: bytes | None
    rule: bytes
    limit: RateLimit


class Prepared(NamedTuple):
    """A decision that holds for similar requests from `begin` until before `until`.

    `fields` are those of PastDecision from `account` to `permission`; `price` is currency and amount if it is refused.
    """

    fields: tuple[bytes, bytes, int, bytes | None, int | None, int | None, str | None]
    facts: dict[str, object]
    observed: str | None
    begin: datetime
    until: datetime | None
    limit: Limit | None
    price: tuple[str, Decimal] | None


class Made(NamedTuple):
    """A decision about a line, and what its counts need."""

    decision: PastDecision
    prepared: Prepared
    moment: datetime
    referrer: str | None


class Line(NamedTuple):
    number: int
    visit: Visit
    digest: bytes
    crawler: Crawler | None
    address: str | None
    url: str


@dataclasses.dataclass
class LogTotals:
    """Numbers of lines by what became of them. `refused`, `reasons` and `worth` are those of imported lines."""

    lines: int = 0
    imported: int = 0
    repeated: int = 0
    malformed: int = 0
    other_hosts: int = 0
    open_pages: int = 0
    assets: int = 0
    live: int = 0
    purged: int = 0
    reasons: Counter[str] = dataclasses.field(default_factory=Counter)
    worth: defaultdict[str, Decimal] = dataclasses.field(default_factory=lambda: defaultdict(Decimal))
    problems: list[tuple[int, str]] = dataclasses.field(default_factory=list)
    first: datetime | None = None
    last: datetime | None = None

    @property
    def refused(self) -> int:
        return self.reasons.total()

    def note_problem(self, number: int, problem: str) -> None:
        self.malformed += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append((number, problem))

    def note_time(self, moment: datetime) -> None:
        self.first = moment if self.first is None else min(self.first, moment)
        self.last = moment if self.last is None else max(self.last, moment)


class LogImport:
    """An import of logs of one site. Files that are imported one after the other share what it has looked up."""

    def __init__(
        self,
        site: Site,
        log_format: LogFormat | None = None,
        *,
        dry_run: bool = False,
        with_live: bool = False,
        names: AddressNames | None = None,
    ) -> None:
        self.site, self.log_format, self.dry_run, self.with_live = site, log_format, dry_run, with_live
        self.names = names
        self.account = ids.decode("acc", site.account_id) or b""
        self.totals = LogTotals()
        self.occurrences = Occurrences(ids.decode("site", site.pk) or b"")
        self.latest = timezone.now() + AHEAD
        horizon = EventHorizon.objects.first()
        self.horizon = None if horizon is None else horizon.begin
        self.agents: LRUCache[str, Crawler | None] = LRUCache(MOST_REMEMBERED)
        self.addresses: LRUCache[str, str | None] = LRUCache(MOST_REMEMBERED)
        self.places: LRUCache[tuple[str, str | None], Identification | None] = LRUCache(MOST_REMEMBERED)
        self.open_urls: LRUCache[str, bool] = LRUCache(MOST_REMEMBERED)
        self.live_hours: dict[datetime, bool] = {}
        self.limits: Counter[tuple[str, bytes | None, bytes, int]] = Counter()
        self.forget()

    def forget(self) -> None:
        """Drop what depends on the account's policies, sites, items and requesters."""
        self.epoch = current_epoch(self.site.account_id)
        self.pages: LRUCache[str, Item | None] = LRUCache(MOST_REMEMBERED)
        self.requesters: dict[str, RequesterSnapshot] = {}
        self.prepared: LRUCache[tuple[object, ...], Prepared] = LRUCache(MOST_REMEMBERED)

    # --- Reading -----------------------------------------------------------------------------------------------------

    def run(self, file: BinaryIO, progress: Progress = lambda totals: None) -> LogTotals:
        """Import a log. Raises InvalidRequest if its format is not known or it is damaged."""
        if not self.dry_run and not VisitsCounted.objects.exists():
            count_visits()
        lines = read_lines(file)
        if self.log_format is None:
            begin = list(islice(lines, LINES_TO_DETECT))
            self.log_format = detect_format(line for _, line in begin)
            lines = chain(begin, lines)
        parse = parser_of(self.log_format)
        while some := list(islice(lines, CHUNK)):
            visits: list[tuple[int, Visit, bytes]] = []
            for number, line in some:
                self.totals.lines += 1
                if line is None:
                    self.totals.note_problem(number, "The line is too long.")
                    continue
                try:
                    visit = parse(line.decode("latin-1"))
                except Malformed as problem:
                    self.totals.note_problem(number, str(problem))
                    continue
                if visit is not None:
                    visits.append((number, visit, line))
            self.import_chunk(visits)
            progress(self.totals)
        return self.totals

    def import_chunk(self, visits: Iterable[tuple[int, Visit, bytes]]) -> None:
        if current_epoch(self.site.account_id) != self.epoch:
            self.forget()
        lines = list(self.relevant(visits))
        self.look_up(lines)
        made = [one for line in lines if (one := self.decide(line)) is not None]
        new = self.write(made)
        self.totals.repeated += len(made) - len(new)
        self.totals.imported += len(new)
        for one in new:
            if one.decision.observed:
                self.totals.reasons[one.decision.observed] += 1
                if one.prepared.price is not None:
                    currency, amount = one.prepared.price
                    self.totals.worth[currency] += amount

    def relevant(self, visits: Iterable[tuple[int, Visit, bytes]]) -> Iterator[Line]:
        """Yield the requests that a proxy would have asked about."""
        totals, site_host = self.totals, self.site.host
        for number, visit, line in visits:
            if visit.host is not None and visit.host != site_host and host_of_header(visit.host) != site_host:
                totals.other_hosts += 1
                continue
            uri = path_of(visit.uri)
            if uri is None or len(uri) > MAX_URI:
                totals.note_problem(number, "The request names no page.")
            elif visit.moment > self.latest:
                totals.note_problem(number, "The time is in the future.")
            elif self.horizon is not None and visit.moment < self.horizon:
                totals.purged += 1
            elif ASSET.match(uri):
                totals.assets += 1
            elif not self.with_live and self.is_live(visit.moment):
                totals.live += 1
            elif self.is_open(url := f"https://{site_host}{escape_uri(uri)}"):
                totals.open_pages += 1
            else:
                totals.note_time(visit.moment)
                crawler, address = self.crawler_of(visit.user_agent), self.address_of(visit.address)
                yield Line(number, visit, self.occurrences.digest(line), crawler, address, url)

    def is_open(self, url: str) -> bool:
        """Return whether the page is open to everybody, such as robots.txt, and so never decided."""
        if url not in self.open_urls:
            self.open_urls[url] = Original(url, "GET", None).is_public
        return self.open_urls[url]

    def is_live(self, moment: datetime) -> bool:
        """Return whether a proxy asked about the site in this hour."""
        hour = moment.replace(minute=0, second=0, microsecond=0)
        known = self.live_hours.get(hour)
        if known is None:
            there = decisions(hour, hour + HOUR).filter(account_id=self.site.account_id, facts__siteId=self.site.pk)
            known = self.live_hours[hour] = there.exclude(facts__has_key="imported").exists()
        return known

    def crawler_of(self, user_agent: str) -> Crawler | None:
        if user_agent not in self.agents:
            self.agents[user_agent] = current_table.get().claimed_by(user_agent)
        return self.agents[user_agent]

    def address_of(self, text: str) -> str | None:
        if text not in self.addresses:
            self.addresses[text] = in_words(parse_address(text)) if text else None
        return self.addresses[text]

    # --- Looking up --------------------------------------------------------------------------------------------------

    def look_up(self, lines: Sequence[Line]) -> None:
        """Find the pages, crawlers' identities and requesters of these lines that are not known yet."""
        urls = sorted({line.url for line in lines} - self.pages.keys())
        for start in range(0, len(urls), PAGES_PER_QUERY):
            some = urls[start : start + PAGES_PER_QUERY]
            found = find_pages(self.site.account_id, some)
            for url in some:
                self.pages[url] = observed_page(found[url]) if url in found else None
        claimed = {(line.crawler.key, line.address): line.crawler for line in lines if line.crawler is not None}
        unknown = {key: crawler for key, crawler in claimed.items() if key not in self.places}
        if unknown:
            self.places.update(async_to_sync(verify)(unknown, self.names))
        keys = {None if line.crawler is None else (line.crawler.key, line.address): line for line in lines}
        visitors = [self.visitor_of(line) for line in keys.values()]
        wanted: dict[str, str | None] = {one.and_requester_id: None for one in visitors if one.and_requester_id}
        wanted |= {one.id: one.name for one in visitors}
        missing = {name: given for name, given in wanted.items() if name not in self.requesters}
        if missing and self.dry_run:
            self.requesters |= find_requesters(self.site.account_id, missing)
        elif missing:
            with transaction.atomic():
                self.requesters |= keep_requesters(self.site.account_id, missing)

    def visitor_of(self, line: Line) -> Visitor:
        crawler = line.crawler
        place = None if crawler is None else self.places[crawler.key, line.address]
        if crawler is None or place is None:
            return claimed_visitor(crawler)
        return Visitor(f"crawler:{crawler.key}", crawler.name, crawler.permission, place)

    # --- Deciding ----------------------------------------------------------------------------------------------------

    def decide(self, line: Line) -> Made | None:
        """Decide a request as of its time. Returns None for a page that no site decides about."""
        item, visit = self.pages[line.url], line.visit
        if item is None:
            return None
        crawler = None if line.crawler is None else line.crawler.key
        place = None if crawler is None else self.places[crawler, line.address]
        address = line.address if reads_address(item) else None
        key = (line.url, visit.method in FREE_METHODS, crawler, place, address)
        prepared = self.prepared.get(key)
        if prepared is None or visit.moment < prepared.begin or (prepared.until and visit.moment >= prepared.until):
            prepared = self.prepared[key] = self.prepare(line, item)
        facts = dict(prepared.facts)
        if line.address is not None:
            facts["ip"] = line.address
        if visit.user_agent:
            facts["userAgent"] = visit.user_agent[:MAX_USER_AGENT].replace("\0", "")
        referrer = None
        if visit.referer and crawler is None and visit.method not in FREE_METHODS:
            referrer = referring_host(visit.referer, self.site.host)
            if referrer is not None:
                facts["referrer"] = referrer
        decision = PastDecision(
            decision_key(visit.moment, line.digest),
            *prepared.fields,
            facts=orjson.dumps(facts),
            created=as_django_writes(render_timestamp(visit.moment) or ""),
            observed=prepared.observed,
        )
        if prepared.limit is not None:
            self.count(decision, prepared.limit, visit.moment)
        return Made(decision, prepared, visit.moment, referrer)

    def prepare(self, line: Line, item: Item) -> Prepared:
        """Decide a request, and all that differ from it only in what is recorded beside the decision."""
        now = line.visit.moment
        visitor = self.visitor_of(line)
        original = Original(line.url, line.visit.method, line.address)
        [check], found = by_current_ids([visitor.check(original, "")], self.requesters)
        requester = found[check.requester_id]
        other_id = check.edge.and_requester_id if check.edge is not None else None
        other = None if other_id is None else found[other_id]
        page = strictest_page(check, item, found, now)
        answer = decide_check(check, page, requester, now, other)
        facts = {
            **recorded_facts(check, page, answer.facts, answer.requester_name, None),
            "imported": True,
        }
        facts.pop("ip", None)
        decision, rule = answer.decision, answer.decision.rule
        limit = None
        if answer.rate_reset is not None and rule is not None and rule.rate_limit is not None:
            counted = other_id if other_id is not None and answer.facts.requester_id != check.requester_id else None
            policy = None if page.policy_key is None else bytes.fromhex(page.policy_key)
            limit = Limit(counted or check.requester_id, policy, rule.fingerprint, rule.rate_limit)
        offer = next(offers(answer.policy, answer.facts), None) if decision.observed else None
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
            price=None if offer is None else (offer.price.currency, from_millionths(offer.price.amount)),
        )

    def count(self, decision: PastDecision, limit: Limit, moment: datetime) -> None:
        """Count a decision on a rate limit. Limits of past windows are counted within the import."""
        begin, end = rate_limits.window(limit.limit.period, moment)
        name = (limit.requester, limit.policy, limit.rule, begin)
        self.limits[name] += 1
        used = self.limits[name]
        decision.rate_remaining, decision.rate_reset = max(limit.limit.requests - used, 0), end
        if used > limit.limit.requests:
            decision.observed = RATE_LIMIT_EXCEEDED

    # --- Writing -----------------------------------------------------------------------------------------------------

    def write(self, made: Sequence[Made]) -> list[Made]:
        """Record the decisions that are new, with their usage and visits, and return them."""
        if self.dry_run:
            with connection.cursor() as cursor:
                known = is_recorded(cursor, [one.decision.id for one in made])
            new = [one for one in made if one.decision.id not in known]
            return list({one.decision.id: one for one in new}.values())
        if not made:
            return []
        for month in {month_of(one.moment) for one in made}:
            ensure_partitions(month, months_ahead=0)
        with turn_to_write(), transaction.atomic():
            until = VisitsCounted.objects.select_for_update().values_list("until", flat=True).get()
            with connection.cursor() as cursor:
                recorded = {one.id for one in record_past(cursor, [one.decision for one in made])}
            new = [one for one in made if one.decision.id in recorded]
            if new:
                VisitsCounted.objects.update(imports=F("imports") + 1)
                self.count_visits([one for one in new if one.moment < until])
        return new

    def count_visits(self, made: Sequence[Made]) -> None:
        """Count the visits of times that are already counted; all others will be."""
        pages: dict[VisitKey, Visits] = {}
        referrals: Counter[Referred] = Counter()
        table, account = current_table.get(), self.site.account_id
        for one in made:
            facts, fields, day = one.prepared.facts, one.prepared.fields, one.moment.date()
            url = str(facts["url"])
            visited = VisitKey(account, day, url, fields[2], str(facts["identifiedBy"]))
            is_refused = bool(one.decision.observed)
            visit = Visits(int(not is_refused), int(is_refused), 0, one.moment)
            pages[visited] = pages[visited] + visit if visited in pages else visit
            if one.referrer is not None and (host := table.referring(one.referrer)) is not None:
                referrals[Referred(account, day, url, host)] += 1
        visitors: dict[tuple[str, date, int, str], Visits] = {}
        for visited, visits in pages.items():
            key = (visited.account, visited.day, visited.requester, visited.identified_by)
            visitors[key] = visitors[key] + visits if key in visitors else visits
        keep(visitors)
        found = {visited: Found(visits, self.site.pk) for visited, visits in pages.items()}
        keep_pages(with_violations(found), dict(referrals))


def detect_format(lines: Iterable[bytes | None]) -> LogFormat:
    """Return the format of a log by its first lines. Raises InvalidRequest if none tells it."""
    for line in lines:
        if line is not None and (found := detect(line.decode("latin-1"))) is not None:
            return found
    raise InvalidRequest("The format of this log is not known. Name it with --format.")


def path_of(uri: str) -> str | None:
    """Return path and query of a request's target; None if it has none, as of CONNECT."""
    if uri.startswith("/"):
        return uri
    _, scheme, rest = uri.partition("://")
    if not scheme:
        return None
    _, slash, path = rest.partition("/")
    return slash + path or "/"


def observed_page(item: Item) -> Item:
    """Return the page as a site in observe mode has it."""
    facts = {**item.facts, "mode": Mode.OBSERVE.value}
    others = tuple(map(observed_page, item.others))
    return dataclasses.replace(item, mode=Mode.OBSERVE.value, facts=facts, others=others)


def reads_address(item: Item) -> bool:
    """Return whether a condition of the page's policies looks at the visitor's address."""
    return any(
        condition.name == "ip"
        for page in item.readings
        if page.policy is not None
        for rule in page.policy.rules
        for condition in rule.conditions
    )


async def verify(
    claimed: Mapping[tuple[str, str | None], Crawler], names: AddressNames | None
) -> dict[tuple[str, str | None], Identification | None]:
    """Return how each crawler's address verifies it, with a bounded number of DNS lookups at a time."""
    known, turns = names or AddressNames(), Semaphore(LOOKUPS)

    async def place(crawler: Crawler, address: str | None) -> Identification | None:
        async with turns:
            return await place_of(crawler, address, known)

    places = await gather(*(place(crawler, address) for (_, address), crawler in claimed.items()))
    return dict(zip(claimed, places, strict=True))


def present_import(totals: LogTotals, site: Site, log_format: str | None, *, dry_run: bool) -> dict[str, object]:
    return {
        "object": "log_import",
        "siteId": site.pk,
        "host": site.host,
        "format": log_format,
        "dryRun": dry_run,
        "lines": totals.lines,
        "imported": totals.imported,
        "repeated": totals.repeated,
        "skipped": {
            "otherHosts": totals.other_hosts,
            "openPages": totals.open_pages,
            "assets": totals.assets,
            "live": totals.live,
            "purged": totals.purged,
        },
        "malformed": totals.malformed,
        "problems": [{"line": number, "message": message} for number, message in totals.problems],
        "firstAt": render_timestamp(totals.first),
        "lastAt": render_timestamp(totals.last),
        "refused": totals.refused,
        "byReason": [{"reason": reason, "count": count} for reason, count in totals.reasons.most_common()],
        "worth": shown(totals.worth),
    }
