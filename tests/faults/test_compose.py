"""The scripts that compose.yaml runs, with the PostgreSQL of the other tests instead of its container."""

import subprocess
from pathlib import Path

import psycopg
import pytest
import yaml

from run import ROOT
from tests.services import Postgres, UnavailableError, postgres

pytestmark = pytest.mark.faults
FOLDER = ROOT / "deploy" / "compose"
WHOLE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = WHOLE["services"]


def script(name: str, server: Postgres, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script until it sleeps."""
    text = (FOLDER / name).read_text().replace("sleep 86400", "exit 0").replace("/backup", str(server.directory))
    here = {"PATH": f"{server.binaries}:/usr/bin:/bin", "PGHOST": "127.0.0.1", "PGPORT": str(server.port), **variables}
    command = ["sh", "-c", text.replace("wait $!", "exit 0")]
    return subprocess.run(command, env=here, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture(scope="module")
def server():
    try:
        with postgres(fsync=False) as server:
            done = script("create-role.sh", server, POSTGRES_PASSWORD="s3cret")
            assert done.returncode == 0, done.stderr
            yield server
    except UnavailableError as error:
        pytest.skip(str(error))


def test_the_service_connects_as_a_role_that_owns_its_database_and_is_no_superuser(server: Postgres):
    assert WHOLE["x-service"]["environment"]["DATABASE_URL"].startswith("postgresql://licensing:")
    assert "POSTGRES_USER" not in SERVICES["postgres"]["environment"]
    with psycopg.connect(server.url.replace("postgres@", "licensing@").replace("/postgres", "/licensing")) as role:
        role.execute("CREATE TABLE anything (id int)")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            role.execute("SET session_replication_role = replica")  # it would switch the triggers off
    with psycopg.connect(server.url) as superuser:
        found = superuser.execute(
            "SELECT rolname::text, rolsuper, rolpassword IS NOT NULL FROM pg_authid WHERE rolcanlogin ORDER BY 1"
        ).fetchall()
    assert found == [("licensing", False, True), ("postgres", True, False)]


def test_the_backup_keeps_older_dumps_until_there_is_a_new_one(server: Postgres):
    older = Path(server.directory, "licensing-2026-01-01.dump")
    older.write_bytes(b"an older dump")
    subprocess.run(["touch", "--date=30 days ago", older], check=True)
    role = {"PGUSER": "licensing", "PGDATABASE": "licensing", "BACKUP_DAYS": "14"}
    failed = script("backup.sh", server, **{**role, "PGDATABASE": "lost"})
    assert "Older dumps stay." in failed.stderr
    assert older.exists()
    done = script("backup.sh", server, **role)
    assert "Dumped the database" in done.stdout, done.stderr
    [dump] = Path(server.directory).glob("licensing-*.dump")
    assert dump != older
    assert dump.stat().st_mode & 0o077 == 0


def test_logs_are_rotated_and_memory_is_limited():
    for name, container in SERVICES.items():
        assert container["logging"]["options"] == {"max-size": "20m", "max-file": "5"}, name
        assert container["mem_limit"], name


def test_postgresql_accepts_the_connections_of_ten_workers():
    [most] = [option for option in SERVICES["postgres"]["command"] if option.startswith("max_connections=")]
    assert int(most.partition("=")[2]) >= 10 * 29
