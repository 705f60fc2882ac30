"""A network that silently drops packets to PostgreSQL is noticed in 20 seconds, not by TCP's 15 minutes."""

import asyncio
import os
import socket
from pathlib import Path

import psycopg
import pytest
from django.db import connection

from config.database_settings import database
from kit.storage.postgresql.async_postgres import Sessions

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
def test_connections_of_the_event_loop_have_the_limits():
    async def open_one() -> dict[str, str]:
        session = await Sessions().connect()
        try:
            with socket.socket(fileno=os.dup(session.socket)) as used:
                if used.family != socket.AF_UNIX and hasattr(socket, "TCP_USER_TIMEOUT"):
                    assert used.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 20_000
            return limits_of(session.opened)
        finally:
            session.close()

    assert asyncio.run(open_one()) == LIMITS


@pytest.mark.parametrize("name", LIMITS)
def test_the_url_overrides_each_limit(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DATABASE_URL", f"postgresql://db/licensing?{name}=7")
    options = database(tmp_path, 1)["OPTIONS"]
    assert {one: str(options[one]) for one in LIMITS} == {**LIMITS, name: "7"}
