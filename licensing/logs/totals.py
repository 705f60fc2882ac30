"""Totals of a log import."""

import dataclasses
from collections import Counter, defaultdict
from datetime import datetime
from decimal import Decimal

from kit.values.timestamps import render_timestamp
from licensing.edge.observed import shown
from licensing.sites.models import Site

MOST_PROBLEMS = 100  # malformed lines that the result lists


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
