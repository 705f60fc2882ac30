"""Backups that are taken under load, restored as in docs/guides/restore.md."""

import json
import re
import shlex
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from run import ROOT
from tests.faults.harness import Deployment, deployed, eventually
from tests.faults.ledger import Ledger
from tests.faults.traffic import Exchange
from tests.services import Postgres, postgres
from tests.services.server import directory

pytestmark = pytest.mark.faults
GUIDE = (ROOT / "docs/guides/restore.md").read_text()
PEPPER = {"SECRET_KEY": "k" * 50, "API_KEY_PEPPER": "p" * 50}


def block(begin: str) -> str:
    """Return the guide's code block that begins so."""
    found = re.search(rf"^```\w+\n({re.escape(begin)}.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    assert found, begin
    return found[1]


def decisions_of(exchanges: list[Exchange]) -> set[str]:
    """Return the ids of the single checks that were answered."""
    return {
        one.reply.body["id"]
        for one in exchanges
        if one.reply.status == 200 and one.reply.body["object"] == "access_decision"
    }


def restored(place: Path, database: Postgres, key: str, **settings: str) -> set[str]:
    """Return the decisions that a service on the restored database has. An old key still works there."""
    place.mkdir()
    copy = Deployment(place, postgres=database, **PEPPER, **settings)
    try:
        copy.start()
        with copy.client(key) as client:
            [item, *_] = client.get("/v1/content").json()["data"]
            exported = client.get("/v1/access/decisions", params={"format": "jsonl"}).text
            check = {"contentId": item["id"], "requester": "org_0"}
            assert client.post("/v1/access/check", json=check).status_code == 200
        reports = [copy.manage(command, "--check") for command in ("rebuild_usage", "close_statements")]
        assert [report["differences"] for report in reports] == [[], []]
        return {json.loads(line)["id"] for line in exported.splitlines()}
    finally:
        copy.close()


def test_a_dump_has_every_decision_that_was_answered_before_it_began(tmp_path):
    with postgres(fsync=False) as database, deployed(tmp_path, postgres=database, **PEPPER) as server:
        [(key, _)] = server.accounts(1)
        with Ledger(server, key).load() as load:
            load.wait_for(400)
            before = decisions_of(load.exchanges)
            database.run("pg_dump", "--format=custom", "--file=dump", f"--dbname={database.url}")
            load.wait_for(200)
        database.run("createdb", f"--maintenance-db={database.url}", "restored")
        url = database.url.rpartition("/")[0] + "/restored"
        database.run("pg_restore", "--no-owner", f"--dbname={url}", "dump")

        decisions = restored(tmp_path / "copy", database, key, DATABASE_URL=url)
        assert before
        assert before <= decisions
        assert decisions_of(load.exchanges) - decisions


def test_the_archived_log_restores_a_moment(tmp_path):
    with directory() as backup, directory() as place:
        for part in (backup, backup / "log"):
            part.mkdir(exist_ok=True)
            part.chmod(0o777)  # PostgreSQL may run as another user

        def settings(begin: str) -> str:
            return block(begin).replace("/backup", str(backup))

        archiving = dict(line.split(" = ", 1) for line in settings("archive_mode").splitlines())
        archiving["archive_command"] = archiving["archive_command"].strip("'")
        with (
            postgres(fsync=False, full_page_writes="on", **archiving) as database,
            deployed(tmp_path, postgres=database, **PEPPER) as server,
            psycopg.connect(database.url, autocommit=True) as connection,
        ):
            [(key, _)] = server.accounts(1)
            ledger = Ledger(server, key)
            base = backup / "base"
            with ledger.load() as load:
                load.wait_for(200)
                database.run(*shlex.split(settings("pg_basebackup").replace('"$DATABASE_URL"', database.url)))
                load.wait_for(200)
                before = decisions_of(load.exchanges)
                moment, late = datetime.now(UTC), time.monotonic()
                load.wait_for(200)
            after = decisions_of([exchange for exchange in load.exchanges if exchange.begun > late])
            last = connection.execute("SELECT pg_walfile_name(pg_switch_wal())").fetchone()
            archived = "SELECT last_archived_wal >= %s FROM pg_stat_archiver"
            assert eventually(lambda: connection.execute(archived, last).fetchone() == (True,))
        new = Postgres(place, database.arguments)
        try:
            shutil.move(base, place / "data")
            config = place / "data" / "postgresql.conf"
            recovery = settings("restore_command").replace("2026-01-31 14:05:00+00", moment.isoformat())
            config.write_text(config.read_text() + recovery)
            (place / "data" / "recovery.signal").touch()
            new.start()
            decisions = restored(tmp_path / "copy", new, key)
            assert before <= decisions
            assert after
            assert not after & decisions
        finally:
            new.kill()
