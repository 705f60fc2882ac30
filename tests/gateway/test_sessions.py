import os
import socket
from pathlib import Path

import psycopg
import pytest
from django.db import OperationalError, connection

from config.database_settings import database
from kit.storage.postgresql.async_postgres import Sessions
from tests.gateway.conftest import closed

# A network that silently drops packets is noticed in 20 seconds, not by TCP's 15 minutes.
LIMITS = {"tcp_user_timeout": "20000", "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "2"}

on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite needs no network")


def limits_of(opened: psycopg.Connection | psycopg.AsyncConnection) -> dict[str, str]:
    given = opened.info.get_parameters()
    return {name: given.get(name, "") for name in LIMITS}


@on_postgresql
@pytest.mark.django_db
def test_connections_of_django_have_the_limits():
    connection.ensure_connection()
    assert limits_of(connection.connection) == LIMITS


@on_postgresql
@pytest.mark.django_db
async def test_connections_of_the_event_loop_have_the_limits():
    session = await Sessions().connect()
    try:
        with socket.socket(fileno=os.dup(session.socket)) as used:
            if used.family != socket.AF_UNIX and hasattr(socket, "TCP_USER_TIMEOUT"):
                assert used.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 20_000
        assert limits_of(session.opened) == LIMITS
    finally:
        session.close()


@pytest.mark.parametrize("name", LIMITS)
def test_the_url_overrides_each_limit(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DATABASE_URL", f"postgresql://db/licensing?{name}=7")
    options = database(tmp_path, 1)["OPTIONS"]
    assert {one: str(options[one]) for one in LIMITS} == {**LIMITS, name: "7"}


ONE, TWO = "01a2060823da759fb1dd32fe718b2648", "01a20608ac07766b9c99f78444590181"
UUIDS = "SELECT replace(one::text, '-', '') FROM unnest(%s::uuid[]) AS one"
BYTES = "SELECT encode(one, 'hex') FROM unnest(%s::bytea[]) AS one"


@on_postgresql
@pytest.mark.django_db
async def test_the_elements_of_a_list_arrive_in_their_order():
    with closed(Sessions()) as sessions:
        for statement, sent, arrived in (
            (UUIDS, [ONE, TWO], [ONE, TWO]),
            (UUIDS, [], []),
            (BYTES, [b"\x00one", b""], [b"\x00one".hex(), ""]),
        ):
            rows = await sessions.run(statement, [sent])
            assert [(value or b"").decode() for [value] in rows] == arrived


@on_postgresql
@pytest.mark.django_db
async def test_a_statement_ends_in_postgresql_before_its_request_is_answered_by_503(settings):
    settings.STATEMENT_SECONDS = 1
    running = """SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'active' AND query LIKE 'INSERT INTO late%'"""
    with closed(Sessions()) as sessions:
        await sessions.run("CREATE TABLE IF NOT EXISTS late (number int)")
        with pytest.raises(OperationalError, match="statement timeout"):
            await sessions.run("INSERT INTO late SELECT 1 FROM pg_sleep(2)")
        assert await sessions.run(running) == [[b"0"]]
        assert await sessions.run("SELECT count(*) FROM late") == [[b"0"]]
        await sessions.run("DROP TABLE late")
