"""The usage report against plain SQL on the decisions, and recording decisions with and without its rollups.

python -m benchmarks.reports                    # 10 million events
python -m benchmarks.reports --events 200000    # a quick trial
"""

import os
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import django

from benchmarks.harness import expect, workplace
from benchmarks.ours import Installation, installed
from benchmarks.report import markdown, parser, publish
from kit.values import ids

PERIODS = ("7d", "30d", "90d", "year", "all")
Runs = dict[str, dict[str, list[float]]]  # by row of the table and side


def main() -> None:
    arguments = parser(__doc__, load=False)
    arguments.add_argument("--events", type=int, default=10_000_000)
    options = arguments.parse_args()
    options.seconds = None
    with workplace() as (stack, directory, services):
        made = installed(stack, "reports", directory, services)
        made.server.stop()
        os.environ.update(made.environment)
        django.setup()
        text, results = compare(made, options)
    publish("reports", text, results, options)


def compare(made: Installation, options: Any) -> tuple[str, dict[str, Any]]:
    """Return the results to publish for a filled installation."""
    from benchmarks import reports_sides  # noqa: PLC0415 - needs settings

    account = ids.id_to_hex("acc", made.account)
    reports_sides.fill(account, options.events)
    began = time.perf_counter()
    made.manage("rebuild_usage", seconds=3600)
    rebuilt = time.perf_counter() - began
    reports_sides.settle()
    events, rollups = reports_sides.sizes()
    usage = measure_reports(reports_sides.usage_sides(made.account), options.rounds)
    recording = reports_sides.recording_rates(made.database, account, options.rounds)
    text = (
        f"{options.events:,} events over {reports_sides.DAYS} days, {reports_sides.ITEMS:,} items and "
        f"{reports_sides.REQUESTERS:,} requesters.\n\n{usage_table(usage)}\n\n"
        f"With their indexes, the events take {events / 2**20:,.0f} MiB and the rollups {rollups / 2**20:,.0f} MiB, "
        f"{rollups / events:.1%}. `rebuild_usage` made all rollups from nothing in {rebuilt:.0f} s.\n\n"
        f"Recording, decisions/s of one connection:\n\n{recording_table(recording)}"
    )
    return text, {"usage": usage, "recording": recording}


def measure_reports(sides: dict[str, Callable[[str], Any]], rounds: int) -> Runs:
    """Return the seconds of each run, by period and side, after verifying that the sides agree."""
    results: Runs = {}
    for period in PERIODS:
        first, *others = [side(period) for side in sides.values()]
        expect(all(other == first for other in others), f"The sides agree about the usage of {period}.")
        results[period] = {name: [] for name in sides}
        for _ in range(rounds):
            for name, side in sides.items():
                began = time.perf_counter()
                side(period)
                results[period][name].append(time.perf_counter() - began)
        print(f"{period} is measured", file=sys.stderr, flush=True)
    return results


def usage_table(results: Runs) -> str:
    rows = []
    for period, runs in results.items():
        mine, plain = (median(seconds) * 1000 for seconds in runs.values())
        rows.append([f"`{period}`", f"{mine:,.0f}", f"{plain:,.0f}", f"{plain / mine:,.1f}"])
    return markdown(["window, by day", "this report, ms", "five queries on the events, ms", "times faster"], rows)


def recording_table(results: Runs) -> str:
    rows = []
    for size, runs in results.items():
        mine, bare = (median(rates) for rates in runs.values())
        rows.append([size, f"{mine:,.0f}", f"{bare:,.0f}", f"{mine / bare:.0%}"])
    return markdown(["batch", "with rollups", "without", "share"], rows, texts=())


if __name__ == "__main__":
    main()
