"""Run the sides alternately, after verifying that they agree, and describe the results."""

import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from statistics import median
from typing import Any

from benchmarks.harness import expect
from benchmarks.reports.sides import Side

PERIODS = ("7d", "30d", "90d", "year", "all")
# Dollars. Only this service's sums are exact to the end: the others' divisions and floats have their last digits.
# Closer than rounding both to cents would ask, and with no half cent that two sides round apart.
MOST_APART = Decimal("0.001")
USAGE = ("hourlyusage", "contentyear", "contentmonth", "requesteryear", "requestermonth")
REVENUE = ("tierrevenue", "contentrevenue", "requesterrevenue", "contentrevenueyear", "requesterrevenueyear")

Results = dict[str, dict[str, list[float]]]


def measure(report: str, sides: dict[str, Side], rounds: int) -> Results:
    """Return the seconds of each run, by period and side."""
    results: Results = {}
    for period in PERIODS:
        first, *others = [side(period) for side in sides.values()]
        apart = {name for other in others for name in first if not agree(first[name], other[name])}
        expect(not apart, f"The sides disagree about the {report} of {period}: {', '.join(sorted(apart))}.")
        results[period] = {name: [] for name in sides}
        for _ in range(rounds):
            for name, side in sides.items():
                began = time.perf_counter()
                side(period)
                results[period][name].append(time.perf_counter() - began)
        print(f"{report} of {period} is measured", file=sys.stderr, flush=True)
    return results


def agree(one: Any, other: Any) -> bool:
    """Whether all counts are equal, and all amounts within MOST_APART."""
    values, others = list(flat(one)), list(flat(other))
    return len(values) == len(others) and all(
        abs(value - peer) < MOST_APART if isinstance(value, Decimal) else value == peer
        for value, peer in zip(values, others, strict=True)
    )


def flat(figures: Any) -> Iterator[Any]:
    if isinstance(figures, list | tuple):
        for part in figures:
            yield from flat(part)
    else:
        yield figures


def table(results: Results) -> str:
    names = list(next(iter(results.values())))
    head = ["window, by day", *(f"{name}, ms" for name in names), "times faster than the queries", "than DuckDB"]
    lines = [f"| {' | '.join(head)} |"]
    lines.append("| --- |" + " ---: |" * (len(names) + 2))
    for period, runs in results.items():
        mine, *others = (median(runs[name]) for name in names)
        shown = [f"{value * 1000:,.0f}" for value in (mine, *others)]
        lines.append(
            f"| `{period}` | {' | '.join(shown)} | {' | '.join(f'{other / mine:,.1f}' for other in others)} |"
        )
    return "\n".join(lines)


def describe_sizes(sizes: dict[str, int]) -> str:
    """Describe the sizes, given the bytes of each table with its indexes."""

    def mebibytes(*names: str) -> float:
        return sum(sizes[f"analytics_{name}"] for name in names) / 2**20

    events, ledger = mebibytes("accessevent"), mebibytes("entry")
    usage, revenue = mebibytes(*USAGE), mebibytes(*REVENUE)
    return (
        f"With their indexes, the events take {events:,.0f} MiB and the ledger {ledger:,.0f} MiB; the usage rollups "
        f"{usage:,.0f} MiB, {usage / events:.1%} of the events; the revenue rollups {revenue:,.0f} MiB, "
        f"{revenue / (events + ledger):.1%} of events and ledger."
    )
