"""Observed denials as facts for the page that asks before a site's mode changes."""

from collections.abc import Mapping
from decimal import Decimal

from kit.values.currencies import in_full
from licensing.edge.observed import ObservedFigures


def observed_facts(report: ObservedFigures, visits: int) -> list[tuple[str, str]]:
    """Return the observed denials, of so many visits, as facts for a confirmation page."""
    facts = [("Would have been refused in 30 days", f"{report.total:,} of {max(visits, report.total):,}")]
    if report.at_stake:
        which = f" (of the newest {report.priced:,})" if report.priced < report.payable else ""
        facts.append(("Revenue at stake", f"{format_sums(report.at_stake)}{which}"))
    for row in report.requesters:
        name = row["name"] or row["requester_id"]
        sums = report.by_requester.get(row["requester_id"], {})
        facts.append((name, f"{row['count']:,}" + (f", {format_sums(sums)}" if sums else "")))
    return facts


def format_sums(sums: Mapping[str, Decimal]) -> str:
    return ", ".join(in_full(amount, currency) for currency, amount in sorted(sums.items()))
