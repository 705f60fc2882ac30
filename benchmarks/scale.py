"""A check and a batch of 50 with everything that a large installation enables, against the defaults.

    python -m benchmarks.scale

Enabled are: a list of database hosts with `target_session_attrs`, a replica for reports, 90 daily partitions, and the
archive, to which the decisions of four earlier months have moved. Both sides share PostgreSQL, so its standby costs
both the same.
"""

import sys
from contextlib import ExitStack
from pathlib import Path

import psycopg

from benchmarks.archive import FILL
from benchmarks.growth_data import MAKE_DAILY_PARTITIONS
from benchmarks.harness import Services, expect, workplace
from benchmarks.log_import import MOST_SECONDS
from benchmarks.ours import Installation, installed
from benchmarks.report import parser
from benchmarks.traffic import measure_checks_and_batches
from tests.services import Postgres, standby

SERVE = (sys.executable, "manage.py", "serve")
DECISIONS, DAYS, DAILY_PARTITIONS = 200_000, 120, 90


def enabled(stack: ExitStack, name: str, directory: Path, services: Services, replica: Postgres) -> Installation:
    """Start an installation, fill and archive it, and serve it with the settings of a large one."""
    folder = directory / f"{name}_archive"
    made = installed(stack, name, directory, services, ARCHIVE_DIR=str(folder))
    made.manage("shell", "--verbosity", "0", "-c", FILL.format(days=DAYS, rows=DECISIONS), seconds=MOST_SECONDS)
    made.manage("archive_events", "--drop", seconds=MOST_SECONDS)
    made.manage("shell", "--verbosity", "0", "-c", MAKE_DAILY_PARTITIONS.format(count=DAILY_PARTITIONS))
    with psycopg.connect(made.database) as connection:
        connection.execute("DELETE FROM analytics_accessevent")  # of this month: the checks are counted
        found = connection.execute(
            "SELECT count(*) FROM pg_inherits WHERE inhparent = 'analytics_accessevent'::regclass"
        )
        [(partitions,)] = found
    expect(partitions > DAILY_PARTITIONS, "there are daily partitions")
    expect(any(folder.rglob("*.parquet")), "there is an archive")
    port = f":{services.postgres.port}"
    reports = made.database.replace(port, f":{replica.port}")
    hosts = made.database.replace(port, f"{port},127.0.0.1:{replica.port}")
    made.serve_instead(SERVE, DATABASE_URL=f"{hosts}?target_session_attrs=read-write", REPORTS_DATABASE_URL=reports)
    return made


def main() -> None:
    options = parser(__doc__).parse_args()
    with workplace() as (stack, directory, services):
        assert services
        replica = stack.enter_context(standby(services.postgres))

        def install(unit: str) -> list[tuple[str, Installation]]:
            everything = enabled(stack, f"{unit}_all", directory, services, replica)
            plain = installed(stack, f"{unit}_plain", directory, services)
            return [("everything enabled", everything), ("defaults", plain)]

        measure_checks_and_batches("scale", options, install)


if __name__ == "__main__":
    main()
