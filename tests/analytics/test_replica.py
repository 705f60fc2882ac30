"""Which database reports read (kit.storage.replica). tests/faults/test_replica.py has a real replica."""

import os
from datetime import UTC, datetime

import pytest
from django.db import OperationalError, connection, connections, router
from psycopg.errors import QueryCanceled, SerializationFailure

from analytics.models import LedgerEntry
from config.database_settings import postgresql
from kit.storage.replica import REPLICA, Reading, Router, alias_to_read, measure
from tests import templates
from tests.services import free_port

on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no replica")


def caused_by(cause: Exception) -> OperationalError:
    error = OperationalError(str(cause))
    error.__cause__ = cause
    return error


@pytest.fixture
def reading() -> Reading:
    made = Reading()
    made.as_of = datetime(2026, 1, 1, tzinfo=UTC)
    return made


def test_without_the_setting_reports_read_the_primary():
    assert Reading().as_of is None
    assert Reading().read(alias_to_read.get) == "default"
    assert Reading().headers == {}


def test_only_reads_of_a_report_go_to_the_replica(reading, settings):
    settings.DATABASE_ROUTERS = ["kit.storage.replica.Router"]

    def aliases() -> tuple[str, str]:
        chosen = router.__class__([Router()])
        return chosen.db_for_read(LedgerEntry), chosen.db_for_write(LedgerEntry)

    assert reading.read(aliases) == (REPLICA, "default")
    assert reading.headers == {"As-Of": "2026-01-01T00:00:00.000000Z"}
    assert aliases() == ("default", "default")


def test_a_query_that_conflicts_with_the_replay_is_repeated_on_the_primary(reading):
    def read() -> str:
        if alias_to_read.get() == REPLICA:
            raise caused_by(SerializationFailure("canceling statement due to conflict with recovery"))
        return alias_to_read.get()

    assert reading.read(read) == "default"
    assert reading.headers == {}
    assert reading.read(alias_to_read.get) == "default"  # further reads of the reply stay there


def test_a_query_that_reaches_its_time_limit_is_not_repeated(reading):
    tried = []

    def read() -> None:
        tried.append(alias_to_read.get())
        raise caused_by(QueryCanceled("canceling statement due to statement timeout"))

    with pytest.raises(OperationalError):
        reading.read(read)
    assert tried == [REPLICA]


@on_postgresql
@pytest.mark.parametrize(
    ("url", "fault"),
    [
        (lambda own: own, "not_a_replica"),
        (lambda own: templates.with_name(own, "template1"), "another_database"),
        (lambda own: f"postgresql://127.0.0.1:{free_port()}/licensing", "unreachable"),
    ],
    ids=["the primary", "another database", "nothing"],
)
def test_a_url_that_leads_to_no_replica_is_not_used(url, fault, django_db_setup, django_db_blocker):
    own = templates.with_name(os.environ["DATABASE_URL"], connection.settings_dict["NAME"])
    connections.settings[REPLICA] = connections.configure_settings(
        {"default": {}, REPLICA: postgresql("REPORTS_DATABASE_URL", url(own), connect_timeout=2, autocommit=True)}
    )[REPLICA]
    try:
        with django_db_blocker.unblock():
            assert measure().fault == fault
    finally:
        connections.close_all()
        del connections[REPLICA], connections.settings[REPLICA]
