"""The cause of a database outage: in /readyz, and in the log once per outage."""

import logging
from unittest.mock import Mock

import pytest
from asgiref.sync import async_to_sync
from django.db import NotSupportedError, OperationalError
from psycopg import OperationalError as PsycopgError
from psycopg import errors
from psycopg_pool import PoolTimeout

from config import background
from kit.storage import outage_causes
from kit.storage.outage_causes import OutageLog, outage_cause
from kit.telemetry import repeated_log

logger = logging.getLogger("tests.outages")


def raised_from(cause: Exception) -> OperationalError:
    error = OperationalError(str(cause))
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(("error", "cause"), [
    (raised_from(errors.DiskFull("could not extend file")), "disk_full"),
    (raised_from(errors.ReadOnlySqlTransaction("cannot execute INSERT")), "read_only"),
    (raised_from(errors.UndefinedTable('relation "x" does not exist')), "schema_differs"),
    (raised_from(errors.InsufficientPrivilege("permission denied for table")), "permission_denied"),
    (raised_from(errors.AdminShutdown("terminating connection")), "shutting_down"),
    (OperationalError('FATAL:  password authentication failed for user "licensing"'), "login_refused"),
    (OperationalError('FATAL:  database "licensing" does not exist'), "no_such_database"),
    (OperationalError("FATAL:  sorry, too many clients already"), "too_many_connections"),
    (OperationalError('FATAL:  too many connections for role "licensing"'), "too_many_connections"),
    (OperationalError('FATAL:  too many connections for database "licensing"'), "too_many_connections"),
    (OperationalError('FATAL:  role "licensing" is not permitted to log in'), "login_refused"),
    (OperationalError('FATAL:  database "a" is not currently accepting connections'), "login_refused"),
    (OperationalError('FATAL:  permission denied for database "licensing"'), "permission_denied"),
    (OperationalError("connection refused"), "unreachable"),
    (NotSupportedError("PostgreSQL 14 or later is required (found 12.3)."), "unsupported"),
    (raised_from(errors.ConnectionTimeout("connection timeout expired")), "timeout"),
])  # fmt: skip
def test_an_error_has_its_cause(error, cause):
    assert outage_cause(error) == cause


@pytest.fixture
def clock(monkeypatch):
    """Return a function that advances the time of outages by this many seconds."""
    now = [100.0]
    for module in (outage_causes, repeated_log):
        monkeypatch.setattr(module, "monotonic", lambda: sum(now))
    return now.append


def test_an_outage_is_logged_once_and_again_with_what_it_failed_if_it_lasts(caplog, clock):
    log, first = OutageLog(), "The database did not answer (unreachable): connection refused"
    for _ in range(1235):
        log.log(logger, OperationalError("connection refused"))
    assert caplog.messages == [first]
    clock(outage_causes.SILENT_SECONDS)
    log.log(logger, OperationalError("connection refused"))
    assert caplog.messages == [first, f"{first} (1,234 more failures since this was last logged)"]
    log.log(logger, raised_from(errors.DiskFull("could not extend file")))
    assert len(caplog.records) == 3  # another cause is logged at once


def test_an_outage_is_one_outage_for_the_lock_of_shared_jobs_too(caplog, clock, monkeypatch):
    monkeypatch.setattr(background, "outages", OutageLog())
    shared = background.SharedWork()
    monkeypatch.setattr(shared.lock, "take", Mock(side_effect=PsycopgError("connection refused")))
    for _ in range(3):
        async_to_sync(shared.try_once)()
    assert caplog.messages == ["The database did not answer (unreachable): connection refused"]
    assert caplog.records[0].exc_info is None


def test_a_write_that_found_the_disk_full_makes_the_service_unready_until_it_is_some_seconds_old(clock):
    log = OutageLog()
    log.log(logger, OperationalError("connection refused"))
    assert not log.is_disk_full()
    log.log(logger, raised_from(errors.DiskFull("could not extend file")))
    assert log.is_disk_full()
    clock(outage_causes.DISK_FULL_SECONDS)
    assert not log.is_disk_full()


def test_attempts_of_the_pool_are_one_outage_and_its_cause(caplog, monkeypatch):
    log = OutageLog()
    monkeypatch.setattr(outage_causes, "outages", log)
    pool = logging.getLogger("psycopg.pool")
    with caplog.at_level(logging.INFO):
        for _ in range(10):
            refused = PsycopgError('FATAL:  password authentication failed for user "licensing"')
            pool.warning("error connecting in %r: %s", "pool-1", refused)
            pool.warning("reconnection attempt in pool %r failed after %s sec", "pool-1", 1.0)
    assert len(caplog.records) == 1
    assert outage_cause(raised_from(PoolTimeout("couldn't get a connection after 5.00 sec"))) == "login_refused"


def test_an_error_of_a_statement_is_no_outage_and_logged_each_time(caplog):
    for error in (errors.DeadlockDetected("deadlock"), errors.UniqueViolation("duplicate key")):
        assert not outage_causes.is_outage(raised_from(error))
    log, texts = OutageLog(), ["deadlock detected", "could not serialize access"]
    for text in texts:
        log.log(logger, raised_from(errors.DeadlockDetected(text)))
    assert [message.rpartition(": ")[2] for message in caplog.messages] == texts


def test_an_outage_without_an_error_of_its_own_is_logged_once_with_the_number_of_failures(caplog, clock):
    log, first = OutageLog(), "The database did not answer (timeout): a decision was late"
    for _ in range(3):
        log.log_timeout(logger, "a decision was late")
    clock(outage_causes.SILENT_SECONDS)
    log.log_timeout(logger, "a decision was late")
    assert caplog.messages == [first, f"{first} (2 more failures since this was last logged)"]


def test_the_cause_of_an_outage_that_has_ended_is_not_that_of_the_next(monkeypatch, clock):
    log = OutageLog()
    monkeypatch.setattr(outage_causes, "outages", log)
    log.note_pool(PsycopgError("FATAL:  the database system is shutting down"))
    assert log.pool_cause() == "shutting_down"
    log.note_connection()
    assert log.pool_cause() is None
    assert outage_cause(raised_from(PoolTimeout("couldn't get a connection after 5.00 sec"))) == "pool_exhausted"
    log.note_pool(PsycopgError("connection refused"))
    clock(outage_causes.SILENT_SECONDS)
    assert log.pool_cause() is None
