"""The expected usage report of a window, counted decision by decision."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from tests.world.model.windows import Window

TOP = 10


class Use(NamedTuple):
    """A decision's fields that reports use."""

    at: datetime
    requester: str
    content: str  # an id
    allowed: bool
    reason: str | None


def usage_report(uses: Iterable[Use], window: Window) -> dict[str, Any]:
    """Return the expected report, without titles and names."""
    inside = [use for use in uses if window.has(use.at)]
    allowed = Counter(window.bucket(use.at) for use in inside if use.allowed)
    denied = Counter(window.bucket(use.at) for use in inside if not use.allowed)
    reasons = Counter(use.reason for use in inside if not use.allowed)
    return {
        "summary": {
            "totalRequests": len(inside),
            "allowed": allowed.total(),
            "denied": denied.total(),
            "uniqueRequesters": len({use.requester for use in inside}),
            "uniqueContent": len({use.content for use in inside}),
        },
        "timeSeries": [
            {
                "date": window.label(bucket),
                "requests": allowed[bucket] + denied[bucket],
                "allowed": allowed[bucket],
                "denied": denied[bucket],
            }
            for bucket in window.buckets()
        ],
        "topContent": top(Counter(use.content for use in inside)),
        "topRequesters": top(Counter(use.requester for use in inside)),
        "byDenialReason": dict(reasons),
    }


def top(counted: Counter[str]) -> list[dict[str, Any]]:
    """Return the ten with most requests; ties by id."""
    ranked = sorted(counted.items(), key=lambda one: (-one[1], one[0]))[:TOP]
    return [{"id": id_, "requests": count} for id_, count in ranked]


def stripped(report: dict[str, Any]) -> dict[str, Any]:
    """Return a report of the service without titles, names and the order of reasons."""
    kept = {name: [{"id": row["id"], "requests": row["requests"]} for row in report[name]] for name in TOPS}
    return {**report, **kept, "byDenialReason": {row["reason"]: row["count"] for row in report["byDenialReason"]}}


TOPS = ("topContent", "topRequesters")
