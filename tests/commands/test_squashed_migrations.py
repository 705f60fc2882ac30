import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import psycopg
import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from launcher.testing import SETTINGS
from run import ROOT
from tests import templates

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
ON_POSTGRESQL = connection.vendor == "postgresql"
SQUASHED = {key: migration for key, migration in MigrationLoader(None).disk_migrations.items() if migration.replaces}

OBJECTS = """
SELECT 'column', format('%s.%s %s %s %s', table_name, column_name, udt_name, is_nullable, column_default)
  FROM information_schema.columns WHERE table_schema = 'public'
UNION ALL SELECT 'index', indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT 'constraint', format('%s %s', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint
  WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT 'trigger', pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
UNION ALL SELECT 'function', pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
UNION ALL SELECT 'storage', format('%s %s %s', relname, relkind, reloptions) FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'i', 'I', 'v')
"""


class Database:
    """A database of the kind that the tests use: empty, or a copy of another one."""

    def __init__(self, name: str, directory: Path, original: "Database | None" = None) -> None:
        self.directory = directory
        self.path = directory / f"{name}.sqlite3"
        self.url = f"sqlite:///{self.path}"
        if ON_POSTGRESQL:
            given = connection.get_connection_params()
            host, port = given["host"], given["port"]
            name = f"squashed_{name}_{os.getpid()}"
            template = original.given["dbname"] if original else "template1"
            with psycopg.connect(**self.parameters(given, "postgres"), autocommit=True) as server:
                server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
            self.given = self.parameters(given, name)
            self.url = f"postgresql://{given['user']}:{given.get('password', '')}@{host}:{port}/{name}"
        elif original:
            shutil.copyfile(original.path, self.path)
            self.path.chmod(0o600)

    @staticmethod
    def parameters(given: dict, name: str) -> dict:
        return {key: given[key] for key in ("host", "port", "user", "password") if given.get(key)} | {"dbname": name}

    def drop(self) -> None:
        if ON_POSTGRESQL:
            with psycopg.connect(**self.given | {"dbname": "postgres"}, autocommit=True) as server:
                server.execute(f"DROP DATABASE {self.given['dbname']} WITH (FORCE)")

    def migrate(self, *arguments: str) -> None:
        environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
        environment |= {"DATABASE_URL": self.url, "DATA_DIR": str(self.directory)}
        command = [sys.executable, "manage.py", "migrate", "-v0", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def rows(self, statement: str) -> set[tuple]:
        if ON_POSTGRESQL:
            with psycopg.connect(**self.given) as server:
                return set(server.execute(statement).fetchall())
        with sqlite3.connect(self.path) as file:
            return set(file.execute(statement).fetchall())

    def forget(self, migrations: Iterable[tuple[str, str]]) -> None:
        """Remove the records that these migrations have been applied."""
        names = ", ".join(f"'{name}'" for _, name in migrations)
        statement = f"DELETE FROM django_migrations WHERE name IN ({names})"  # noqa: S608
        with psycopg.connect(**self.given) if ON_POSTGRESQL else sqlite3.connect(self.path) as connected:
            connected.execute(statement)

    def objects(self) -> set[tuple]:
        """Return what is defined in the database, with columns in any order."""
        if ON_POSTGRESQL:
            return self.rows(OBJECTS)
        found = self.rows("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
        return {
            (name, *sorted(re.split(r", (?=\")|, (?=CONSTRAINT)|, (?=PRIMARY)|\(|\)$", sql))) for name, sql in found
        }

    def applied(self) -> set[tuple]:
        return self.rows("SELECT app, name FROM django_migrations")


@pytest.fixture
def database(tmp_path: Path):
    tmp_path.chmod(0o700)
    made: list[Database] = []

    def make(name: str, original: Database | None = None) -> Database:
        made.append(Database(name, tmp_path, original))
        return made[-1]

    yield make
    for one in made:
        one.drop()


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A database that was migrated at once; tests only read it."""
    directory = tmp_path_factory.mktemp("new")
    directory.chmod(0o700)
    made = Database("new", directory)
    if ON_POSTGRESQL:
        made.migrate()
    else:
        templates.copy_of_sqlite(made.path)
    yield made
    made.drop()


def test_each_app_has_one_that_replaces_all_migrations_until_then():
    assert {app for app, _ in SQUASHED} == {"accounts", "licensing", "analytics"}
    for (app, name), migration in SQUASHED.items():
        last = name.removeprefix("0001_squashed_")
        names = {own for other, own in MigrationLoader(None).disk_migrations if other == app and own <= last}
        assert {own for _, own in migration.replaces} == names - {name}


def test_databases_that_ran_all_or_some_of_the_migrations_have_the_tables_of_a_new_one(database, new):
    old = database("old")
    old.migrate("licensing", "0030")
    for has_run_all in (False, True):
        if has_run_all:  # as a version without the squashed ones leaves it
            old.forget(SQUASHED)
        assert not old.applied() & SQUASHED.keys()
        old.migrate()  # records that the squashed ones have been applied
        assert old.applied() == new.applied()
        assert SQUASHED.keys() <= new.applied()
        assert old.objects() ^ new.objects() == set()


@pytest.mark.skipif(ON_POSTGRESQL, reason="PostgreSQL's views of statements need the columns of later migrations.")
def test_a_new_database_can_be_brought_back_to_a_replaced_migration_by_name(database, new):
    reverted = database("reverted", new)
    reverted.migrate("analytics", "0030")
    assert ("analytics", "0031_indexes_of_external_ids_and_voids") not in reverted.applied()
    reverted.migrate()
    assert reverted.objects() ^ new.objects() == set()
