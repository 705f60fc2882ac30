import os
import subprocess
import sys
from pathlib import Path
from stat import S_IMODE

from kit.private_files import GROUP_AND_OTHERS, has_permissions
from launcher.testing import SETTINGS
from run import ROOT

# Commit and read with an open connection, so that the log and its index exist.
USE = """
import os, sys, django
os.umask(0)
django.setup()
from django.conf import settings
from django.db import connection
from analytics.events.retention import exclusive_maintenance
from kit.telemetry.workers import shared_metrics
connection.cursor().execute("CREATE TABLE IF NOT EXISTS t (a)")
with exclusive_maintenance():
    pass
with shared_metrics(settings.DATA_DIR):
    for path in [sys.argv[1], *os.scandir(sys.argv[1])]:
        print(os.path.basename(path), oct(os.stat(path).st_mode & 0o777))
"""


def use(directory: Path, **environment: str) -> dict[str, str]:
    """Open the database, and return the mode of each file in the directory by name."""
    kept = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    environment = {**kept, "DJANGO_SETTINGS_MODULE": "config.settings", "DATA_DIR": str(directory), **environment}
    done = subprocess.run(
        [sys.executable, "-c", USE, directory], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return dict(line.rsplit(" ", 1) for line in done.stdout.splitlines())


def test_files_of_the_service_are_private_to_its_user(tmp_path):
    modes = use(tmp_path / "data")
    assert {"db.sqlite3", "db.sqlite3-wal", "db.sqlite3-shm", "db.sqlite3.lock", "secret_key"} <= set(modes)
    assert set(modes.values()) == {"0o600", "0o700"}


def test_a_database_that_was_open_to_all_is_closed_at_the_next_start_and_a_chosen_directory_keeps_its_rights(tmp_path):
    database = tmp_path / "elsewhere.sqlite3"
    for path in (database, Path(f"{database}-wal"), Path(f"{database}.lock"), tmp_path / "secret_key"):
        path.touch()
        path.chmod(0o644)
    tmp_path.chmod(0o750)
    modes = use(tmp_path, DATABASE_URL=f"sqlite:///{database}")
    names = ("elsewhere.sqlite3", "elsewhere.sqlite3-wal", "elsewhere.sqlite3.lock", "secret_key")
    assert {modes[name] for name in names} == {"0o600"}
    assert S_IMODE(tmp_path.stat().st_mode) == 0o750


def test_any_right_of_others_is_open(tmp_path):
    for mode, is_open in ((0o700, False), (0o600, False), (0o750, True), (0o604, True)):
        tmp_path.chmod(mode)
        assert has_permissions(tmp_path, GROUP_AND_OTHERS) == is_open
