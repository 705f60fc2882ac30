"""manage.py archive_events killed at any moment, beside a service that records and reads decisions."""

import random
import re
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest

from run import ROOT
from tests.archived import Place, newest_table, on_disk, on_s3, s3_server
from tests.faults.conftest import ON_POSTGRESQL, kills
from tests.faults.harness import Deployment, separate
from tests.faults.ledger import Ledger

pytestmark = pytest.mark.faults
__all__ = ["s3_server"]  # a fixture

COUNTS = """
SELECT account_id, month, count(*), sum(rate) FROM (
  SELECT account_id, {month} AS month, coalesce(rate_remaining, 0) AS rate FROM analytics_accessevent
) AS decision GROUP BY account_id, month
"""
MONTH = {True: "to_char(created AT TIME ZONE 'UTC', 'YYYY-MM')", False: "substr(created, 1, 7)"}


@pytest.fixture(params=["disk", "S3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "disk":
        return on_disk(tmp_path / "archive")
    return on_s3(request.getfixturevalue("s3_server"), uuid4().hex)


def started(server: Deployment, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT, env=server.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def archiving(server: Deployment, *options: str) -> subprocess.Popen[str]:
    return started(server, "manage.py", "archive_events", *options)


def recorded(server: Deployment) -> list[tuple[str, int, int]]:
    """Return the month, number and sum of each account's decisions, of all closed months."""
    rows = server.rows(COUNTS.format(month=MONTH[bool(server.postgres)]))
    return sorted((month, rows, int(total)) for _, month, rows, total in rows if month < time.strftime("%Y-%m"))


def archived(place: Place) -> list[tuple[str, int, int]]:
    """Return the same of the newest version of the table, as any reader of its files finds it."""
    table = newest_table(place)
    if table is None:
        return []
    rows = table.scan(selected_fields=("account", "month", "rate_remaining")).to_arrow()
    groups = rows.group_by(["account", "month"]).aggregate([("account", "count"), ("rate_remaining", "sum")])
    return sorted(
        (f"{one['month']:%Y-%m}", one["account_count"], one["rate_remaining_sum"] or 0) for one in groups.to_pylist()
    )


def test_a_killed_archive_loses_and_doubles_nothing(server: Deployment, key: str, place: Place) -> None:
    former = dict(server.environment)
    server.environment |= {"ARCHIVE_DIR": place.setting, **place.variables}
    try:
        assert "curl" in server.manage("seed_demo", "--days", "130", "--beside")
        wanted = recorded(server)
        assert len(wanted) >= 3
        ledger = Ledger(server, key)
        with ledger.load():
            for _ in range(kills(3)):
                process = archiving(server, "--anew")
                time.sleep(random.uniform(0.5, 4))  # a kill at any moment
                process.kill()
                process.wait(20)
                partly = archived(place)
                assert set(partly) <= set(wanted)
                assert len(partly) == len(set(partly))
            # With --anew if no run came as far as to forget the table of another place.
            process = archiving(server, *([] if newest_table(place) else ["--anew"]))
            output, _ = process.communicate(timeout=120)
        assert re.search(r"Archived \d+ months", output), output
        assert archived(place) == wanted
        assert ledger.discrepancies() == []
        table = newest_table(place)
        assert table
        used = {task.file.file_path.partition("://")[2] for task in table.scan().plan_files()}
        assert used == set(place.files(".parquet"))  # nothing of the killed ones is left
    finally:
        server.environment = former


# As `archive_events --drop`, but with less time between the new horizon and the removal.
REMOVE = """
import django
django.setup()
from django.core.management import call_command
from analytics.archive import dropping
dropping.GRACE = 12
call_command("archive_events", "--drop")
"""
LEFT = "SELECT count(*) FROM analytics_accessevent WHERE created < date_trunc('month', now(), 'UTC')"


@pytest.mark.skipif(not ON_POSTGRESQL, reason="SQLite has no partitions to drop")
def test_a_killed_removal_leaves_every_decision_to_be_read_once(tmp_path: Path, place: Place) -> None:
    month = time.strftime("%Y-%m-01")
    closed = {"format": "jsonl", "sort": "created", "created[lt]": month}
    with separate(tmp_path, ARCHIVE_DIR=place.setting, **place.variables) as server:
        made = str(server.manage("seed_demo", "--days", "100", "--beside"))
        [(key, _)] = server.accounts(1)
        ledger = Ledger(server, key)
        demo = re.search(r"Bearer (\w+)", made)
        assert demo
        with server.client(demo[1]) as client, ledger.load():

            def read() -> list[str]:
                return client.get("/v1/access/decisions", params=closed).text.splitlines()

            wanted = read()
            assert len(wanted) > 100
            for _ in range(kills(3)):
                process = started(server, "-c", REMOVE)
                time.sleep(random.uniform(1, 18))  # a kill at any moment
                assert read() == wanted
                process.kill()
                process.wait(20)
                assert read() == wanted
            process = started(server, "-c", REMOVE)
            output, _ = process.communicate(timeout=120)
            assert process.returncode == 0, output
            assert read() == wanted
        [(left,)] = server.rows(LEFT)
        assert (left, ledger.discrepancies()) == (0, [])
