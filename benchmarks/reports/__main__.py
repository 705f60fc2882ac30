"""The usage and revenue reports, against the same figures by SQL on the raw rows and by DuckDB on the same data.

python -m benchmarks.reports                    # 10 million events
python -m benchmarks.reports --events 200000    # a quick trial
"""

import os
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import django

from benchmarks.harness import workplace
from benchmarks.ours import Installation
from benchmarks.report import parser, publish
from kit.values import ids


def main() -> None:
    arguments = parser(__doc__, load=False)
    arguments.add_argument("--events", type=int, default=10_000_000)
    options = arguments.parse_args()
    options.seconds = None
    if not os.environ.get("TMPDIR"):
        os.environ["TMPDIR"] = tempfile.gettempdir()
    with workplace() as (stack, directory, services):
        made = Installation("reports", directory, services)
        stack.callback(made.stop)
        made.start()
        made.server.stop()
        os.environ.update(made.environment)
        django.setup()
        text, results = compare(made, directory, options)
    publish("reports", text, results, options)


def compare(made: Installation, directory: Path, options: Any) -> tuple[str, dict[str, Any]]:
    """Return the results to publish for a filled installation."""
    from benchmarks.reports import measure, postgresql, recording, year  # noqa: PLC0415 - need settings
    from benchmarks.reports.sides import Sides, add_rates  # noqa: PLC0415

    account = ids.id_to_hex("acc", made.account)
    postgresql.fill(account, options.events)
    add_rates(datetime.now(UTC).date())
    began = time.perf_counter()
    made.manage("rebuild_usage", seconds=3600)
    rebuilt = time.perf_counter() - began
    postgresql.settle()
    sentences = measure.describe_sizes(postgresql.sizes())
    sides = Sides(made.account, directory)
    usage = measure.measure("usage", sides.usage(), options.rounds)
    revenue = measure.measure("revenue", sides.revenue(), options.rounds)
    text = (
        f"{options.events:,} events and {sides.entries():,} entries of the ledger, over {year.DAYS} days, "
        f"{year.ITEMS:,} items and {year.REQUESTERS:,} requesters.\n\nUsage:\n\n{measure.table(usage)}\n\n"
        f"Revenue, in dollars:\n\n{measure.table(revenue)}\n\n"
        f"{sentences} `rebuild_usage` made all rollups from nothing in {rebuilt:.0f} s."
    )
    rates = recording.recording_rates(made.database, account, options.rounds)
    text += f"\n\nRecording, decisions/s of one connection:\n\n{rates.table()}"
    return text, {"usage": usage, "revenue": revenue, "recording": rates.runs}


if __name__ == "__main__":
    main()
