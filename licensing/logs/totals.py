"""Totals of a log import."""

import dataclasses
from collections import Counter, defaultdict
from datetime import datetime
from decimal import Decimal

from kit.values.numbers import share_without
from kit.values.timestamps import render_timestamp
from licensing.edge.observed import render_sums
from licensing.imports.problems import Problems
from licensing.sites.identification import Identification
from licensing.sites.models import Site

MAX_PROBLEMS = 100  # malformed lines that the result lists, the first of each kind


@dataclasses.dataclass
class LogTotals:
    """Numbers of lines by what became of them.

    `refused`, `reasons`, `identifications` and `prices_by_currency` are those of imported lines.
    """

    lines: int = 0
    imported: int = 0
    repeated: int = 0
    malformed: int = 0
    other_hosts: int = 0
    open_pages: int = 0
    assets: int = 0
    in_live_hours: int = 0
    purged: int = 0
    not_requests: int = 0  # headers, and what the server logs about itself
    not_taken_by_status: Counter[str] = dataclasses.field(default_factory=Counter)  # by class of status, such as 4xx
    reasons: Counter[str] = dataclasses.field(default_factory=Counter)
    identifications: Counter[str] = dataclasses.field(default_factory=Counter)
    prices_by_currency: defaultdict[str, Decimal] = dataclasses.field(default_factory=lambda: defaultdict(Decimal))
    notes: list[str] = dataclasses.field(default_factory=list)  # about fields that the format lacks or hides
    problems: list[tuple[int, str]] = dataclasses.field(default_factory=list)
    problem_kinds: Problems = dataclasses.field(default_factory=Problems)
    first: datetime | None = None
    last: datetime | None = None

    @property
    def refused(self) -> int:
        return self.reasons.total()

    @property
    def verified_crawlers(self) -> int:
        """Requests by crawlers whose address proves them: a log has no signatures."""
        return self.identifications[Identification.ADDRESS] + self.identifications[Identification.REVERSE_DNS]

    @property
    def unverified_crawlers(self) -> int:
        return self.identifications[Identification.USER_AGENT]

    @property
    def understood_percent(self) -> float:
        """The share of lines that are not malformed."""
        return share_without(self.malformed, self.lines)

    @property
    def skipped_by_reason(self) -> dict[str, int]:
        """Why lines were not imported, and how many. Without what did not occur."""
        reasons = {
            "already imported": self.repeated,
            "of other hosts": self.other_hosts,
            "of pages open to everybody": self.open_pages,
            "of assets": self.assets,
            **{f"answered with {name}": number for name, number in sorted(self.not_taken_by_status.items())},
            "of hours with a proxy": self.in_live_hours,
            "of purged times": self.purged,
            "without a request": self.not_requests,
            "malformed": self.malformed,
        }
        return {words: number for words, number in reasons.items() if number}

    @property
    def failure(self) -> str:
        """Why no line of the log is imported, now or earlier; empty if some are."""
        if self.imported or self.repeated:
            return ""
        if not self.lines:
            return "Nothing can be imported: the log has no lines."
        first = next((f" Line {number:,}: {problem}" for number, problem in self.problems), "")
        return f"Nothing can be imported from {self.lines:,} lines: {describe_skipped(self.skipped_by_reason)}.{first}"

    def note_problem(self, number: int, problem: str) -> None:
        self.malformed += 1
        if self.problem_kinds.note(number, problem) and len(self.problems) < MAX_PROBLEMS:
            self.problems.append((number, problem))

    def note_times(self, moments: list[datetime]) -> None:
        noted = [*moments, *filter(None, (self.first, self.last))]
        self.first = min(noted, default=None)
        self.last = max(noted, default=None)


def describe_skipped(skipped_by_reason: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {words}" for words, number in skipped_by_reason.items())


def present_import(totals: LogTotals, site: Site, log_format: str | None, *, dry_run: bool) -> dict[str, object]:
    return {
        "object": "log_import",
        "siteId": site.pk,
        "host": site.host,
        "format": log_format,
        "dryRun": dry_run,
        "lines": totals.lines,
        "understoodPercent": totals.understood_percent,
        "imported": totals.imported,
        "repeated": totals.repeated,
        "skipped": {
            "otherHosts": totals.other_hosts,
            "openPages": totals.open_pages,
            "assets": totals.assets,
            "live": totals.in_live_hours,
            "purged": totals.purged,
            "notTaken": totals.not_taken_by_status.total(),
            "notRequests": totals.not_requests,
        },
        "notTakenByStatus": [
            {"status": name, "count": count} for name, count in sorted(totals.not_taken_by_status.items())
        ],
        "malformed": totals.malformed,
        "notes": totals.notes,
        "problems": [{"line": number, "message": message} for number, message in totals.problems],
        "firstAt": render_timestamp(totals.first),
        "lastAt": render_timestamp(totals.last),
        "crawlers": {"verified": totals.verified_crawlers, "unverified": totals.unverified_crawlers},
        "refused": totals.refused,
        "byReason": [{"reason": reason, "count": count} for reason, count in totals.reasons.most_common()],
        "worth": render_sums(totals.prices_by_currency),
    }
