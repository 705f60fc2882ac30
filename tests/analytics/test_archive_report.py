"""manage.py report: usage of all accounts, computed from the archive by a cluster of Sail with three workers."""

import csv
import json
import os
import socket
import subprocess
import sys
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from analytics.archive.copying import update_archive
from tests import factories
from tests.analytics.recording import record_all, some_events
from tests.archived import folder, place, prefix, s3_server, table
from tests.faults.harness import eventually
from tests.services import dies_with, free_port
from tests.services.s3_server import REGION

pytest.importorskip("pysail", reason="it needs Sail, see requirements-edge.txt")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")]
NOW = datetime(2026, 2, 3, tzinfo=UTC)
SAIL = Path(sys.executable).with_name("sail")
THREE_WORKERS = {"SAIL_MODE": "local-cluster", "SAIL_CLUSTER__WORKER_INITIAL_COUNT": "3"}
__all__ = ["folder", "place", "prefix", "s3_server", "table"]  # fixtures


@pytest.fixture(autouse=True)
def _no_doctests(monkeypatch):
    """Spark's client takes a main module without a file, such as a process of pytest-xdist, for its own doctests."""
    monkeypatch.setattr(sys.modules["__main__"], "__file__", __file__, raising=False)


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def engine(s3_server):
    """Sail with the variables of the guide for S3."""
    port = free_port()
    keys = s3_server.owner | {"AWS_REGION": REGION, "AWS_ENDPOINT": s3_server.url, "AWS_ALLOW_HTTP": "true"}
    process = subprocess.Popen(
        [SAIL, "spark", "server", "--port", str(port)],
        env=os.environ | THREE_WORKERS | keys,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=dies_with(os.getpid(), 9),  # noqa: PLW1509
    )
    try:
        assert eventually(lambda: is_open(port))
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait(20)


def report(engine, year, *options):
    out = StringIO()
    call_command("report", f"--engine={engine}", f"--year={year}", *options, stdout=out)
    return out.getvalue()


def test_the_report_of_the_group_equals_the_sums_of_the_api(account, other_account, connect, engine):
    third = factories.account(name="Third Gazette")
    owners = (account, other_account, third)
    for number, owner in enumerate(owners):
        record_all(some_events(owner, 200, datetime(2025, 2, 1, tzinfo=UTC), 330, seed=number))
    update_archive(NOW)
    rows = json.loads(report(engine, 2025, "--json"))["data"]
    assert [row["name"] for row in rows if row["month"] == "2025-06"] == [one.name for one in owners]
    for owner in owners:
        own = [row for row in rows if row["account"] == owner.pk]
        usage = connect(factories.key_text(owner)).get(
            "/v1/analytics/usage", startDate="2025-01-01", endDate="2025-12-31", groupBy="month"
        )
        for name in ("requests", "allowed", "denied"):
            assert [row[name] for row in own] == [
                period[name] for period in usage["timeSeries"] if period["requests"]
            ]  # fmt: skip
        assert sum(row["requests"] for row in own) == usage["summary"]["totalRequests"] > 100


def test_it_is_printed_as_csv_without_rows_of_other_years(account, engine):
    from pyspark.sql import SparkSession

    record_all(some_events(account, 50, datetime(2025, 6, 10, tzinfo=UTC), 5, seed=1))
    update_archive(NOW)
    rows = list(csv.DictReader(report(engine, 2025).splitlines()))
    # An open session keeps the process from ending, for ten minutes if the engine is gone by then.
    assert SparkSession.getActiveSession() is None
    assert {row["account"] for row in rows} == {account.pk}
    assert sum(int(row["requests"]) for row in rows) == 50
    assert json.loads(report(engine, 2024, "--json")) == {"data": []}


def test_an_engine_that_cannot_compute_it_is_an_error(engine):
    with pytest.raises(CommandError, match="did not compute the report"):  # nothing was archived
        report(engine, 2025)
    with pytest.raises(CommandError, match="cannot be reached"):
        report(f"sc://127.0.0.1:{free_port()}", 2025)
    with pytest.raises(CommandError, match="no address of Spark Connect"):
        report("spark://127.0.0.1:7077", 2025)
