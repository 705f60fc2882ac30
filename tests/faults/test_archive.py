"""manage.py archive_events killed at any moment, beside a service that records and reads decisions."""

import random
import re
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from run import ROOT
from tests.archived import newest_table
from tests.faults.conftest import ON_POSTGRESQL, kills
from tests.faults.harness import Deployment, deployed
from tests.faults.ledger import Ledger
from tests.services import postgres, valkey

pytestmark = pytest.mark.faults

COUNTS = """
SELECT account_id, month, count(*), sum(rate) FROM (
  SELECT account_id, {month} AS month, coalesce(rate_remaining, 0) AS rate FROM analytics_accessevent
) AS decision GROUP BY account_id, month
"""
MONTH = {True: "to_char(created AT TIME ZONE 'UTC', 'YYYY-MM')", False: "substr(created, 1, 7)"}


def archiving(server: Deployment, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", "archive_events", *options],
        cwd=ROOT, env=server.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def wait_for_months(process: subprocess.Popen[str], count: int) -> None:
    """Wait until the process has archived that many months."""
    assert process.stdout
    for line in process.stdout:
        count -= "Archived" in line
        if count <= 0:
            return


def recorded(server: Deployment) -> list[tuple[str, int, int]]:
    """Return the month, number and sum of each account's decisions, of all closed months."""
    rows = server.rows(COUNTS.format(month=MONTH[bool(server.postgres)]))
    return sorted((month, rows, int(total)) for _, month, rows, total in rows if month < time.strftime("%Y-%m"))


def archived(folder: Path) -> list[tuple[str, int, int]]:
    """Return the same of the newest version of the table, as any reader of its folder finds it."""
    table = newest_table(folder)
    if table is None:
        return []
    rows = table.scan(selected_fields=("account", "month", "rate_remaining")).to_arrow()
    groups = rows.group_by(["account", "month"]).aggregate([("account", "count"), ("rate_remaining", "sum")])
    return sorted(
        (f"{one['month']:%Y-%m}", one["account_count"], one["rate_remaining_sum"] or 0) for one in groups.to_pylist()
    )


def test_a_killed_archive_loses_and_doubles_nothing(server: Deployment, key: str, tmp_path: Path) -> None:
    server.environment["ARCHIVE_DIR"] = str(tmp_path)
    try:
        assert "curl" in server.manage("seed_demo", "--days", "130", "--beside")
        wanted = recorded(server)
        assert len(wanted) >= 3
        ledger = Ledger(server, key)
        with ledger.load():
            for _ in range(kills(3)):
                process = archiving(server, "--anew")
                time.sleep(random.uniform(0.5, 4))
                process.kill()
                process.wait(20)
                partly = archived(tmp_path)
                assert set(partly) <= set(wanted)
                assert len(partly) == len(set(partly))
            process = archiving(server)
            output, _ = process.communicate(timeout=120)
        assert re.search(r"Archived \d+ months", output), output
        assert archived(tmp_path) == wanted
        assert ledger.discrepancies() == []
        table = newest_table(tmp_path)
        assert table
        used = {urlsplit(task.file.file_path).path for task in table.scan().plan_files()}
        assert used == {str(file) for file in tmp_path.rglob("*.parquet")}  # nothing of the killed ones is left
    finally:
        del server.environment["ARCHIVE_DIR"]


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
def test_a_killed_removal_leaves_every_decision_to_be_read_once(tmp_path: Path) -> None:
    month = time.strftime("%Y-%m-01")
    closed = {"format": "jsonl", "sort": "created", "created[lt]": month}
    with (
        postgres(fsync=False) as database,
        valkey() as redis,
        deployed(tmp_path, workers=2, postgres=database, valkey=redis) as server,
    ):
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
                process = removing(server)
                time.sleep(random.uniform(1, 18))
                assert read() == wanted
                process.kill()
                process.wait(20)
                assert read() == wanted
            process = removing(server)
            output, _ = process.communicate(timeout=120)
            assert process.returncode == 0, output
            assert read() == wanted
        [(left,)] = server.rows(LEFT)
        assert (left, ledger.discrepancies()) == (0, [])


def removing(server: Deployment) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", REMOVE],
        cwd=ROOT, env=server.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
