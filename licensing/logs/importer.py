"""Decides and records the requests of an access log as a proxy in observe mode would have: nothing is charged.

Policies and sites are those of now; dates, schedules and licences are those of each request's time. The id of a
decision follows from its line, so lines that are imported again change nothing.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import chain, islice
from typing import BinaryIO

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from accounts.plans.epochs import current_epoch
from analytics.archive.changes import note_change
from analytics.events.partitions import ensure_partitions, month_start
from analytics.events.retention import recorded_since
from analytics.ledger.services import EARLIEST
from analytics.recording.past import find_recorded, record_past
from kit.http.errors import InvalidRequest
from kit.storage.sqlite_turns import rows_at_a_time, turn_to_write
from kit.values import ids
from kit.values.hosts import host_of_header
from licensing.edge.original import MAX_URI, Original, escape_uri
from licensing.edge.proxies.paths import ASSET
from licensing.edge.verification.reverse_dns import AddressNames
from licensing.logs.deciding import MAX_CACHED, DecidedLine, Decider, Line, Prepared
from licensing.logs.formats import Parser, detect_format, get_parser
from licensing.logs.lines import Occurrences, read_lines
from licensing.logs.notes import notes_about, notes_about_earlier_imports, notes_about_networks
from licensing.logs.requests import Malformed, NoRequest, Visit, no_address
from licensing.logs.totals import LogTotals
from licensing.sites.models import Site
from licensing.visits import proxy_networks
from licensing.visits.counting import count_visits, edge_decisions
from licensing.visits.figures import Visits
from licensing.visits.models import VisitsCounted
from licensing.visits.usage import Group, store_usage, tally_visits

# Lines per transaction. On SQLite other writers wait for its end: 0.1 s of processor time. On PostgreSQL they do not,
# and more lines take more memory. Three chunks are in memory at a time.
CHUNK = rows_at_a_time(5_000, 2_000)
LINES_TO_DETECT = 100
AHEAD = timedelta(minutes=1)  # clocks may differ
HOUR = timedelta(hours=1)
UNASKED = re.compile(rf"{ASSET}(\?|$)")  # pages that the files in deploy/edge/ do not ask about

Progress = Callable[[LogTotals], object]
NumberedLine = tuple[int, bytes | None]  # None for one that is too long
NumberedVisit = tuple[int, Visit, bytes]  # with its line


class LogImport(Decider):
    """An import of logs of one site. Files imported one after the other share its cached look-ups."""

    def __init__(
        self,
        site: Site,
        log_format: str | None = None,
        *,
        dry_run: bool = False,
        with_live: bool = False,
        names: AddressNames | None = None,
    ) -> None:
        super().__init__(site, dry_run=dry_run, names=names)
        self.hosts = site.hosts  # here, because it asks the database
        self.log_format = log_format
        self.with_live = with_live
        self.totals = LogTotals()
        self.first: list[tuple[Visit, str]] = []  # requests with their lines
        self.compared: list[proxy_networks.Visit] = []  # the first ones
        self.damage: InvalidRequest | None = None
        self.occurrences = Occurrences(ids.decode("site", site.pk) or b"")
        self.latest = timezone.now() + AHEAD
        self.horizon = recorded_since()
        self.is_open = lru_cache(MAX_CACHED)(is_open)
        self.is_live = lru_cache(None)(self.has_live_decisions)

    # --- Reading -----------------------------------------------------------------------------------------------------

    def run(self, file: BinaryIO, progress: Progress = lambda totals: None) -> LogTotals:
        """Import a log. Raises InvalidRequest if its format is not known or it is damaged.

        A thread parses and decides chunks while others are written, because writing mostly waits for the database.
        """
        if not self.dry_run and not VisitsCounted.objects.exists():
            count_visits()
        lines = read_lines(file)
        if self.log_format is None:
            begin = list(islice(lines, LINES_TO_DETECT))
            self.log_format = detect_format(line.decode("latin-1") for _, line in begin if line is not None)
            lines = chain(begin, lines)
        chunks = self.parse_chunks(lines, get_parser(self.log_format), CHUNK)
        decided: list[DecidedLine] = []
        with ThreadPoolExecutor(1) as thread:
            parsing = thread.submit(next, chunks, None)
            while (chunk := parsing.result()) is not None:
                number, requests = chunk
                if self.totals.lines == 0:
                    self.totals.notes = notes_about(self.site, self.log_format, self.first)
                self.totals.lines += number
                deciding = thread.submit(self.decide_lines, self.prepare_lines(requests))
                parsing = thread.submit(next, chunks, None)
                self.write(decided)
                decided = deciding.result()
                progress(self.totals)
        self.write(decided)
        self.totals.notes += notes_about_networks(self.compared)
        self.totals.notes += notes_about_earlier_imports(self.site, self.totals, dry_run=self.dry_run)
        if self.damage is not None:
            raise self.damage
        self.totals.problems.sort()
        return self.totals

    def parse_chunks(
        self, lines: Iterator[NumberedLine], parse: Parser, size: int
    ) -> Iterator[tuple[int, list[Line]]]:
        """Yield the number of lines and the relevant requests of each transaction, without access to the database.

        Stops where the file is damaged, and keeps the error.
        """
        try:
            while chunk := list(islice(lines, size)):
                visits = list(self.parse_lines(chunk, parse))
                if not self.first:
                    self.first = [(visit, line.decode("latin-1")) for _, visit, line in visits[:LINES_TO_DETECT]]
                yield len(chunk), list(self.relevant(visits))
        except InvalidRequest as damage:
            self.damage = damage

    def parse_lines(self, lines: Iterable[NumberedLine], parse: Parser) -> Iterator[NumberedVisit]:
        for number, line in lines:
            if line is None:
                self.totals.note_problem(number, "The line is too long.")
                continue
            try:
                visit = parse(line.decode("latin-1"))
            except NoRequest:
                visit = None
            except Malformed as problem:
                self.totals.note_problem(number, str(problem))
                continue
            if visit is None:
                self.totals.not_requests += 1
            else:
                yield number, visit, line

    def relevant(self, visits: Iterable[NumberedVisit]) -> Iterator[Line]:
        """Yield the requests that a proxy asks about, whether or not one did."""
        totals = self.totals
        site_host = self.site.host
        for number, visit, line in visits:
            host, uri = split_target(visit)
            if host is not None and host not in self.hosts and host_of_header(host) not in self.hosts:
                totals.other_hosts += 1
                continue
            address = self.address_of(visit.address)
            if address is None:
                totals.note_problem(number, no_address(visit.address))
            elif uri is None or len(uri) > MAX_URI:
                totals.note_problem(number, "The request names no page.")
            elif visit.moment > self.latest:
                totals.note_problem(number, "The time is in the future.")
            elif visit.moment < EARLIEST:  # of a server whose clock was not set
                totals.note_problem(number, f"The time is before the year {EARLIEST.year}.")
            elif self.horizon is not None and visit.moment < self.horizon:
                totals.purged += 1
            elif UNASKED.match(uri):
                totals.assets += 1
            elif not visit.has_page:
                totals.not_taken_by_status[status_class(visit.status)] += 1
            elif self.is_open(url := f"https://{site_host}{escape_uri(uri)}"):
                totals.open_pages += 1
            else:
                crawler = self.crawler_of(visit.user_agent)
                yield Line(number, visit, self.occurrences.digest(line), crawler, address, url)

    def prepare_lines(self, requests: Sequence[Line]) -> list[Line]:
        """Return those to decide, after reading everything from the database that their decisions need."""
        if current_epoch(self.site.account_id) != self.epoch:
            self.forget()
        lines = [line for line in requests if self.with_live or not self.is_live(hour_of(line.visit.moment))]
        self.totals.in_live_hours += len(requests) - len(lines)
        self.totals.note_times([line.visit.moment for line in lines])
        self.look_up(lines)
        for line in lines[: proxy_networks.MAX_VISITS - len(self.compared)]:
            visitor = self.identify(line)
            visit = line.visit
            self.compared.append(
                proxy_networks.Visit(visit.moment, visitor.id, line.address, visit.user_agent, visitor.identified_by)
            )
        return lines

    def has_live_decisions(self, hour: datetime) -> bool:
        """Return whether a proxy asked about the site in this hour."""
        live_decisions = edge_decisions(hour, hour + HOUR).filter(
            account_id=self.site.account_id, facts__siteId=self.site.pk
        )
        return live_decisions.exclude(facts__has_key="imported").exists()

    # --- Writing -----------------------------------------------------------------------------------------------------

    def write(self, lines: Sequence[DecidedLine]) -> None:
        """Record the decisions that are new, with their usage and visits."""
        new = self.without_recorded(lines) if self.dry_run else self.record(lines)
        self.totals.repeated += len(lines) - len(new)
        self.totals.imported += len(new)
        for line in new:
            self.totals.identifications[str(line.prepared.facts["identifiedBy"])] += 1
            if line.decision.observed:
                self.totals.reasons[line.decision.observed] += 1
                if line.prepared.price is not None:
                    currency, amount = line.prepared.price
                    self.totals.prices_by_currency[currency] += amount

    def without_recorded(self, lines: Iterable[DecidedLine]) -> list[DecidedLine]:
        by_id = {line.decision.id: line for line in lines}
        with connection.cursor() as cursor:
            recorded_ids = find_recorded(cursor, list(by_id))
        return [line for key, line in by_id.items() if key not in recorded_ids]

    def record(self, lines: Sequence[DecidedLine]) -> list[DecidedLine]:
        """Record the decisions and return those that are new."""
        if not lines:
            return []
        for moment in {line.decision.created[: len("2026-01")]: line.moment for line in lines}.values():
            ensure_partitions(month_start(moment), months_ahead=0)
        with turn_to_write(), transaction.atomic():
            until = VisitsCounted.objects.select_for_update().values_list("until", flat=True).get()
            with connection.cursor() as cursor:
                recorded = {decision.id for decision in record_past(cursor, [line.decision for line in lines])}
            new = [line for line in lines if line.decision.id in recorded]
            if new:
                note_change(self.site.account_id, {line.moment.date() for line in new})
                VisitsCounted.objects.update(imports=F("imports") + 1)
                store_usage(*tally_visits(self.group([line for line in new if line.moment < until])))
        return new

    def group(self, lines: Iterable[DecidedLine]) -> list[Group]:
        """Group the visits of times that are already counted; all others will be."""
        numbers: Counter[tuple[Prepared, date, str | None, bool]] = Counter()
        latest: dict[tuple[Prepared, date, str | None, bool], datetime] = {}
        for line in lines:
            key = (line.prepared, line.moment.date(), line.referrer, bool(line.decision.observed))
            numbers[key] += 1
            latest[key] = max(line.moment, latest.get(key, line.moment))
        groups = []
        for key, number in numbers.items():
            prepared, day, referrer, is_refused = key
            observed = number if is_refused else 0
            visits = Visits(number - observed, observed, 0, latest[key])
            identified_by = str(prepared.facts["identifiedBy"])
            url = str(prepared.facts["url"])
            requester = prepared.fields[2]
            groups.append(
                Group(self.site.account_id, day, requester, identified_by, url, referrer, self.site.pk, visits)
            )
        return groups


def hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def status_class(status: int) -> str:
    """Return `4xx` for 404; `other` for what is no status, such as the 0 of a request that was broken off."""
    return f"{status // 100}xx" if 100 <= status < 600 else "other"


def is_open(url: str) -> bool:
    """Return whether the page is open to everybody, such as robots.txt, and so never decided."""
    return Original(url, "GET", None).is_public


def split_target(visit: Visit) -> tuple[str | None, str | None]:
    """Return the host and the path of a request's target.

    A target such as `http://pub.example/a` names its host itself (RFC 9112 3.2.2). The path is None for a target
    without one, as CONNECT has it.
    """
    if visit.uri.startswith("/"):
        return visit.host, visit.uri
    _, scheme, host_and_path = visit.uri.partition("://")
    if not scheme:
        return visit.host, None
    host, slash, path = host_and_path.partition("/")
    return host, slash + path or "/"
