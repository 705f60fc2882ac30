"""Commands in processes of their own whose database is away or unusable."""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from run import ROOT
from tests import templates
from tests.services import free_port

CREATE = "CREATE DATABASE {} ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0"


def manage(command: str, data_dir: Path, url: str) -> subprocess.Popen[str]:
    """Start a command of manage.py with the database at this URL."""
    environment = {**os.environ, "DATA_DIR": str(data_dir), "DATABASE_URL": url}
    arguments = [sys.executable, "manage.py", command]
    return subprocess.Popen(arguments, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)


def test_a_command_on_a_database_without_tables_says_which_settings_to_look_at(tmp_path):
    errors = manage("list_accounts", tmp_path, "").communicate()[1]
    assert errors.startswith("CommandError: The database lacks tables of this version.")


def test_no_command_prints_a_traceback_while_postgresql_is_away(tmp_path: Path):
    url = f"postgresql://licensing@127.0.0.1:{free_port()}/licensing"
    # All at once, because each waits some seconds for the database.
    processes = {command: manage(command, tmp_path, url) for command in ("clearsessions", "migrate", "list_accounts")}
    errors = {command: process.communicate()[1] for command, process in processes.items()}
    assert {command: process.returncode for command, process in processes.items()} == dict.fromkeys(processes, 1)
    for command, error in errors.items():
        *logged, sentence = error.splitlines()
        assert len(logged) <= 1, command  # the pool's first failure
        assert sentence.startswith("CommandError: The database did not answer (unreachable): "), command


@pytest.mark.parametrize(
    ("end", "told"),
    [("/licensing?connect_timeout=x", "value for connect_timeout: 'x'"), ("", "names no database"), ("/", "names no")],
)
def test_an_unusable_database_url_is_named(tmp_path: Path, end: str, told: str):
    process = manage("check", tmp_path, f"postgresql://me:hidden@127.0.0.1{end}")
    [sentence] = process.communicate()[1].splitlines()
    assert process.returncode == 1
    assert "DATABASE_URL" in sentence
    assert told in sentence
    assert "hidden" not in sentence


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite keeps text as Unicode")
def test_a_database_that_does_not_keep_text_as_unicode_is_refused(tmp_path: Path) -> None:
    name, url = f"ascii_{os.getpid()}", os.environ["DATABASE_URL"]
    with psycopg.connect(templates.with_name(url, "postgres"), autocommit=True) as server:
        server.execute(CREATE.format(name))
        try:
            process = manage("migrate", tmp_path, templates.with_name(url, name))
            [sentence] = process.communicate()[1].splitlines()
        finally:
            server.execute(f"DROP DATABASE {name}")
    assert process.returncode == 1
    assert sentence.startswith("CommandError: The database did not answer (unsupported): ")
    assert "encoding is SQL_ASCII, and has to be UTF8" in sentence
