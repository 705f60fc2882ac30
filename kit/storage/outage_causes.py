"""Name why the database does not answer, for probes, and log an outage once a minute."""

import logging
from time import monotonic

from django.db import InterfaceError, NotSupportedError, OperationalError, connection
from psycopg.errors import ConnectionTimeout
from psycopg_pool import PoolTimeout

from kit.storage.postgresql.timelines import Promoted
from kit.telemetry.repeated_log import SILENT_SECONDS, RepeatedLog

DISK_FULL_SECONDS = 15.0  # how long probes report a write that failed: a full disk still answers reads
SCHEMA_DIFFERS = "schema_differs"
DISK_FULL = "disk_full"
CAUSES = {  # by SQLSTATE (PostgreSQL, Appendix A) or SQLite's name of the error
    "28P01": "login_refused",
    "28000": "login_refused",
    "3D000": "no_such_database",
    "53100": DISK_FULL,
    "53200": "out_of_memory",
    "53300": "too_many_connections",
    "57P01": "shutting_down",
    "57P02": "shutting_down",
    "57P03": "starting",
    "25006": "read_only",
    "42501": "permission_denied",
    "42P01": SCHEMA_DIFFERS,
    "42703": SCHEMA_DIFFERS,
    "SQLITE_FULL": DISK_FULL,
    "SQLITE_READONLY": "read_only",
    "SQLITE_CANTOPEN": "unreachable",
}
# libpq passes no SQLSTATE on for a connection that was refused, only the server's message.
MESSAGES = {
    "password authentication failed": "login_refused",
    "no pg_hba.conf entry": "login_refused",
    "is not permitted to log in": "login_refused",
    "is not currently accepting connections": "login_refused",
    "permission denied for database": "permission_denied",
    "too many clients": "too_many_connections",
    "too many connections for": "too_many_connections",  # the role or the database
    "remaining connection slots": "too_many_connections",
    "the database system is starting up": "starting",
    "the database system is shutting down": "shutting_down",
    "No space left on device": DISK_FULL,
}
TIMEOUT = "timeout"
POOL_EXHAUSTED = "pool_exhausted"
UNSUPPORTED = "unsupported"  # its version or encoding
FAILED = "failed"  # the database answered, with an error that is not about itself


def outage_cause(error: BaseException) -> str:
    """Return what keeps the database from answering, such as `disk_full`; `unreachable` if nothing more is known."""
    error = error if error.__cause__ is None else error.__cause__
    if "no such table" in str(error):  # SQLite has no code of its own for it
        return SCHEMA_DIFFERS
    if isinstance(error, Promoted):
        return "promoted"
    if isinstance(error, PoolTimeout):
        return outages.pool_cause() or POOL_EXHAUSTED
    if isinstance(error, ConnectionTimeout):
        return TIMEOUT
    if isinstance(error, NotSupportedError):  # Django's: it has looked at the server
        return UNSUPPORTED
    code = getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorname", None)
    if code is not None:
        return CAUSES.get(code, FAILED)
    text = str(error)
    if "database" in text and "does not exist" in text:
        return "no_such_database"
    return next((cause for message, cause in MESSAGES.items() if message in text), "unreachable")


def is_outage(error: BaseException) -> bool:
    kinds = OperationalError | InterfaceError | NotSupportedError
    return isinstance(error, kinds) and outage_cause(error) != FAILED


def describe_outage(error: BaseException) -> str:
    return describe(outage_cause(error), " ".join(str(error).split()))


def describe(cause: str, details: str) -> str:
    return f"The database did not answer ({cause}): {details}"


class OutageLog:
    """Logs an outage when it begins and once a minute while it lasts, however many requests it fails."""

    def __init__(self) -> None:
        self.repeated = RepeatedLog()
        self.pool: tuple[str, float] | None = None  # why the pool could not connect, and when
        self.disk_full_at: float | None = None  # when a write last failed for want of space

    def log(self, logger: logging.Logger, error: BaseException) -> None:
        self.log_cause(logger, outage_cause(error), describe_outage(error))

    def log_timeout(self, logger: logging.Logger, details: str) -> None:
        """Log that the database took too long, without an error of its own."""
        self.log_cause(logger, TIMEOUT, describe(TIMEOUT, details))

    def log_cause(self, logger: logging.Logger, cause: str, message: str) -> None:
        if cause == DISK_FULL:
            self.disk_full_at = monotonic()
        if cause == FAILED:  # errors of statements differ
            logger.error("%s", message)
        else:
            self.repeated.log(logger, logging.ERROR, cause, message)

    def is_disk_full(self) -> bool:
        """Whether a write failed within the last DISK_FULL_SECONDS because the database's disk was full."""
        return self.disk_full_at is not None and monotonic() - self.disk_full_at < DISK_FULL_SECONDS

    def note_pool(self, error: BaseException) -> None:
        self.pool = outage_cause(error), monotonic()

    def note_connection(self) -> None:
        """Forget why the pool could not connect, because it has connected since."""
        self.pool = None

    def pool_cause(self) -> str | None:
        """Return why the pool cannot connect; None if it can, or has not failed for a while."""
        if self.pool is not None and monotonic() - self.pool[1] < SILENT_SECONDS:
            return self.pool[0]
        return None


outages = OutageLog()


def log_failure(logger: logging.Logger, complaint: str, error: Exception) -> None:
    """Log why work in the background failed: an outage as all outages, anything else with its traceback."""
    if is_outage(error):
        outages.log(logger, error)
    else:
        logger.error(complaint, exc_info=error)


class PoolFilter(logging.Filter):
    """Replace the pool's log of each failed attempt to connect by the log of the outage."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.args[-1] if isinstance(record.args, tuple) and record.args else None
        if isinstance(error, BaseException):
            outages.note_pool(error)
            outages.log(logging.getLogger(__name__), error)
            return False
        return not record.getMessage().startswith("reconnection attempt")


def is_read_only() -> bool:
    """Whether PostgreSQL refuses writes: a standby, or `default_transaction_read_only`."""
    if connection.vendor != "postgresql":
        return False
    with connection.cursor() as cursor:
        cursor.execute("SHOW transaction_read_only")
        [answer] = cursor.fetchone()
    return bool(answer == "on")
