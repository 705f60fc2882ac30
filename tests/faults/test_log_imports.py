"""The import of a log is killed in the middle. The next import of the log counts each of its lines once."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.factories import ALLOW_ALL
from tests.faults.harness import Deployment, eventually

pytestmark = pytest.mark.faults

HOST = "logged.example"
LINES = 25_000  # more than two transactions of an import
SECONDS = 300  # for a busy machine


def test_a_log_whose_import_was_killed_counts_once_when_it_is_imported_again(server, tmp_path):
    [(_, key, _)] = server.ask_shell("accounts", 1)
    log, yesterday = tmp_path / "access.log", datetime.now(UTC) - timedelta(days=1)
    time = f"{yesterday:%d/%b/%Y}:12:00:00 +0000"
    log.write_text("".join(f'192.0.2.1 - - [{time}] "GET /{n} HTTP/1.1" 200 1 "-" "GPTBot"\n' for n in range(LINES)))
    with server.client(key) as client:
        rules = [{"pattern": "/*", "policyId": client.policy(ALLOW_ALL)}]
        client.create("/v1/sites", host=HOST, mode="observe", rules=rules)

        def recorded() -> int:
            return int(client.get("/v1/access/decisions", params={"limit": 1}).json()["totalCount"])

        command = [sys.executable, "manage.py", "import_access_log", str(log), "--site", HOST]
        with subprocess.Popen(
            command, cwd=server.checkout, env=server.environment, stdout=subprocess.DEVNULL
        ) as importing:
            assert eventually(recorded, SECONDS)
            importing.kill()
        before = recorded()
        assert 0 < before < LINES
        result = server.manage("import_access_log", str(log), "--site", HOST)
        assert (result["repeated"], result["imported"], recorded()) == (before, LINES - before, LINES)
        for report in ("pages", "usage"):
            summary = client.get(f"/v1/analytics/{report}", params={"period": "7d"}).json()["summary"]
            assert summary.get("requests", summary.get("totalRequests")) == LINES, report


IN_OWN_PROCESS = """
import json, os, pathlib
from operators.catalogue import log_import
options = {"dry_run": True, "with_live": False, "most_bytes": 1 << 20}
for site in ("logged-by-admin.example", "missing.example"):
    try:
        report = log_import.run_import_command(pathlib.Path(os.environ["LOG"]), site, "", **options)
        print(json.dumps(report["imported"]))
    except Exception as error:
        print(error.message)
"""


def test_the_admin_imports_a_log_in_a_process_of_its_own(server: Deployment, tmp_path: Path) -> None:
    [(_, key, _)] = server.ask_shell("accounts", 1)
    log, yesterday = tmp_path / "access.log", datetime.now(UTC) - timedelta(days=1)
    log.write_text(f'192.0.2.1 - - [{yesterday:%d/%b/%Y}:12:00:00 +0000] "GET /a HTTP/1.1" 200 1 "-" "GPTBot"\n')
    with server.client(key) as client:
        rules = [{"pattern": "/*", "policyId": client.policy(ALLOW_ALL)}]
        client.create("/v1/sites", host="logged-by-admin.example", mode="observe", rules=rules)
    done = server.python("manage.py", "shell", "--no-imports", "-c", IN_OWN_PROCESS, LOG=str(log))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == [
        "1", "There is no site 'missing.example'. Create it first; its mode does not matter."
    ]  # fmt: skip
