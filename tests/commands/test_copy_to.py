import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from analytics.events.retention import LOCK as MAINTENANCE
from config.copying import LOCK
from run import ROOT
from tests.documentation.blocks import blocks
from tests.faults.harness import Deployment
from tests.served import database_on_postgresql

pytestmark = pytest.mark.skipif(connection.vendor != "postgresql", reason="it needs a server to copy to")
GUIDE = "docs/guides/move-to-postgresql.md"
WALLET = """
import os
from django.test import Client
client = Client(headers={"Host": "localhost", "Authorization": f"Bearer {os.environ['KEY']}"})
def post(path, body):
    return client.post(f"/v1/wallets{path}", body, content_type="application/json")
made = post("", {"requesterId": "org_fenwick", "unit": "EUR"})
granted = post(f"/{made.json()['id']}/grants", {"amount": 5})
print(made.status_code, granted.status_code)
"""
COUNTED = ("analytics_accessevent", "analytics_entry", "analytics_walletentry", "accounts_auditentry")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A SQLite installation with decisions, a ledger and a wallet."""
    deployment = Deployment(tmp_path_factory.mktemp("source"))
    try:
        deployment.migrate()
        [key] = re.findall(r"Bearer (svc_sk_\w+)", deployment.manage("seed_demo", "--days", "40")["curl"])
        made = run(deployment, "shell", "-c", WALLET, KEY=key)
        assert made.stdout.endswith("201 201\n"), made.stderr
        yield deployment
    finally:
        deployment.close()


@pytest.fixture
def target() -> Iterator[str]:
    with database_on_postgresql(f"copied_{os.getpid()}") as url:
        yield url


def environment(source: Deployment) -> dict[str, str]:
    return {name: value for name, value in source.environment.items() if name not in ("DATABASE_URL", "REDIS_URL")}


def run(source: Deployment, *command: str, **further: str) -> subprocess.CompletedProcess[str]:
    return completed([sys.executable, "manage.py", *command], {**environment(source), **further})


def completed(command: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False, timeout=240)


def counts(source: Deployment, url: str) -> list[tuple[int, int]]:
    queries = [f"SELECT count(*) FROM {one}" for one in COUNTED]  # noqa: S608 - names of ours
    with psycopg.connect(url) as server:
        return [(source.rows(one)[0][0], server.execute(one).fetchone()[0]) for one in queries]


def test_the_guide_moves_everything(source: Deployment, target: str, tmp_path: Path):
    steps = [one.text for one in blocks() if one.path == GUIDE]
    script = "\n".join(steps).replace(".venv/bin/python", sys.executable)
    script = re.sub(r"^TARGET=.*$", f"TARGET='{target}'", script, flags=re.MULTILINE)
    done = completed(["bash", "-euo", "pipefail", "-c", script], environment(source))
    assert done.returncode == 0, done.stderr
    assert "Everything agrees with the decisions and the ledger." in done.stdout
    assert "The books agree with their entries." in done.stdout
    found = counts(source, target)
    assert [here == there for here, there in found] == [True] * len(COUNTED)
    assert all(here for here, _ in found)
    assert found[0][0] > 1_000  # more than a batch
    assert re.search(r"Then rename \S+: a command without DATABASE_URL would work on it", done.stdout)


def test_a_killed_copy_goes_on(source: Deployment, target: str):
    command = [sys.executable, "manage.py", "copy_to", target]
    process = subprocess.Popen(command, cwd=ROOT, env=environment(source), stderr=subprocess.PIPE, text=True)
    assert process.stderr
    tables = []
    for line in process.stderr:
        tables.append(line.partition(":")[0])
        if tables[-1] == "analytics_accessevent":
            break
    assert len(tables) == len({*tables})
    progress = "SELECT copied FROM copy_progress WHERE name = 'analytics_accessevent'"
    with psycopg.connect(target, autocommit=True) as server:
        while not server.execute(progress).fetchall():
            assert process.poll() is None
        process.kill()
        process.wait(30)
        [(copied,)] = server.execute(progress).fetchall()
        assert server.execute("SELECT count(*) FROM analytics_accessevent").fetchone() == (copied,)
    again = run(source, "copy_to", target)
    assert again.returncode == 0, again.stderr
    assert [here == there for here, there in counts(source, target)] == [True] * len(COUNTED)
    assert run(source, "rebuild_usage", "--check", DATABASE_URL=target).returncode == 0
    with psycopg.connect(target) as server:  # sequences continue after the copied rows
        [(last,)] = server.execute("SELECT max(id) FROM licensing_requester").fetchall()
        following_number = "SELECT nextval(pg_get_serial_sequence('licensing_requester', 'id'))"
        [(following,)] = server.execute(following_number).fetchall()
        assert following > last


def test_a_copy_that_fails_while_it_recomputes_figures_goes_on(source: Deployment, target: str):
    with psycopg.connect(target, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [MAINTENANCE])
        assert run(source, "copy_to", target).returncode == 1
        assert other.execute("SELECT to_regclass('copy_progress')").fetchone() != (None,)  # `serve` does not start
    again = run(source, "copy_to", target)
    assert again.returncode == 0, again.stderr
    assert run(source, "rebuild_usage", "--check", DATABASE_URL=target).returncode == 0


def test_targets_with_data_other_versions_or_another_copy_are_refused(source: Deployment, target: str):
    with psycopg.connect(target, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        refused = run(source, "copy_to", target)
    assert refused.returncode == 1
    assert refused.stderr == "CommandError: Another copy_to is filling this target. Wait for it to end.\n"

    made = run(source, "create_account", "Somebody", DATABASE_URL=target)
    assert made.returncode == 0, made.stderr
    refused = run(source, "copy_to", target)
    assert refused.returncode == 1
    assert "The target is not empty: accounts_account" in refused.stderr
    with psycopg.connect(target) as server:
        assert server.execute("SELECT name FROM accounts_account").fetchall() == [("Somebody",)]
    for address in ("sqlite:////tmp/x.sqlite3", "nonsense"):
        refused = run(source, "copy_to", address)
        assert refused.returncode == 1
        assert "from SQLite" in refused.stderr

    with psycopg.connect(target, autocommit=True) as server:
        server.execute("DELETE FROM django_migrations WHERE app = 'analytics' AND name LIKE '0019%'")
    refused = run(source, "copy_to", target)
    assert refused.returncode == 1
    assert "of different versions (analytics.0019" in refused.stderr
