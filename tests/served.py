"""`manage.py serve` as a subprocess, on the configured kind of database, for tests that call it from outside."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest
from django.conf import settings
from psycopg import sql

from tests import templates
from tests.faults.harness import Deployment


class Service(NamedTuple):
    """A running service; `account` is new and without tight limits, and `key` has all permissions."""

    url: str
    account: str
    key: str


@contextmanager
def database_on_postgresql(name: str) -> Iterator[str]:
    """Create a migrated database on the server of the settings and yield its URL; drop it at the end."""
    templates.copy_on_postgresql(name)
    try:
        yield templates.with_name(os.environ["DATABASE_URL"], name)
    finally:
        with psycopg.connect(templates.with_name(os.environ["DATABASE_URL"], "postgres"), autocommit=True) as server:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def installed(directory: Path) -> Iterator[Deployment]:
    """Yield an installation with a migrated database of its own, without a running server."""
    with ExitStack() as stack:
        url = ""
        if settings.DATABASES["default"]["ENGINE"].endswith("postgresql"):
            name = f"{directory.name}_{os.getpid()}"
            url = stack.enter_context(database_on_postgresql(name))
        installation = stack.enter_context(closing(Deployment(directory, DATABASE_URL=url)))
        if not url:
            installation.migrate()
        yield installation


@contextmanager
def served(directory: Path) -> Iterator[Deployment]:
    with installed(directory) as server:
        server.start()
        yield server


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with served(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture
def service(running: Deployment) -> Service:
    [(account, key, _)] = running.ask_shell("accounts", 1)
    return Service(running.url, account, key)
