"""Reads for reports, from a streaming replica (docs/guides/deployment.md, A replica for reports).

Reads inside `Reading.read` go to the replica of REPORTS_DATABASE_URL while it is usable. All other reads, and all
writes, go to the primary. Without the setting everything does.

The replica has all commits up to `as_of`, by the primary's clock. That is now if it has replayed all WAL that the
primary has written, so an idle primary causes no lag. Otherwise it is the time of the last replayed commit. The
comparison is with the primary's WAL and not with the WAL received: a replica that has lost its primary receives
nothing, and would seem to be up to date for ever.

Positions in the WAL compare only on one timeline. After a promotion, a replica that still follows the former primary
is on another one.
"""

import logging
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from datetime import datetime, timedelta
from threading import Lock
from time import monotonic, sleep
from typing import Any, NamedTuple, TypeVar

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from prometheus_client import Counter

from kit import statement_timeout
from kit.storage.outage_causes import outage_cause
from kit.storage.postgresql.timelines import TIMELINE
from kit.values.timestamps import render_timestamp

REPLICA = "replica"  # the alias in DATABASES
USABLE_SECONDS = 1.0  # how long a process uses a measurement
FAULTY_SECONDS = 5.0  # the same of a replica that is not used: measuring one that is unreachable takes seconds
# How long to wait for the first commit after a pause. Until it is replayed, the last replayed one is old.
PATIENCE = 0.2
PRIMARY_STATE_SQL = f"""SELECT clock_timestamp(), pg_current_wal_lsn()::text, {TIMELINE}, system_identifier,
  (SELECT oid FROM pg_database WHERE datname = current_database()) FROM pg_control_system()"""  # noqa: S608 - made of constants
# Only roles with pg_read_all_stats see the timeline that is received. Others see it after the next restartpoint.
REPLICA_STATE_SQL = """SELECT pg_is_in_recovery(), system_identifier,
  (SELECT oid FROM pg_database WHERE datname = current_database()),
  greatest((SELECT max(received_tli) FROM pg_stat_wal_receiver), timeline_id, min_recovery_end_timeline),
  pg_last_wal_replay_lsn() >= %s::pg_lsn, pg_last_xact_replay_timestamp()
  FROM pg_control_system(), pg_control_checkpoint(), pg_control_recovery()"""
NOT_A_REPLICA, ANOTHER_DATABASE, LAGGING = "not_a_replica", "another_database", "lagging"
ANOTHER_TIMELINE = "another_timeline"
T = TypeVar("T")

logger = logging.getLogger(__name__)
reads = Counter(
    "licensing_report_reads",
    "Reports and files by where they are read: `replica`, or why they are read from the primary.",
    ["source"],
)
reads.labels(REPLICA)  # so that the metric has a series from the start
alias_to_read: ContextVar[str] = ContextVar("alias_to_read", default=DEFAULT_DB_ALIAS)


class Router:
    """Sends Django's queries where `Reading` says; in DATABASE_ROUTERS with REPORTS_DATABASE_URL."""

    def db_for_read(self, model: object, **hints: object) -> str:
        return alias_to_read.get()

    def db_for_write(self, model: object, **hints: object) -> str:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, one: object, other: object, **hints: object) -> bool:
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: object) -> bool:
        return db == DEFAULT_DB_ALIAS


def reading_connection() -> BaseDatabaseWrapper:
    """Return the connection for a report's own SQL. Django's `connection` is always the primary's."""
    return connections[alias_to_read.get()]


class State(NamedTuple):
    """The time of the replica's data (`as_of`), or the `fault` that keeps the replica from being used."""

    as_of: datetime | None
    fault: str = ""
    detail: str = ""


class Replica:
    """The state of this process's replica, measured by the requests that need it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.state: State | None = None
        self.valid_until = 0.0

    def current(self) -> State:
        # Others need not wait while one request measures anew.
        if monotonic() >= self.valid_until and self.lock.acquire(blocking=self.state is None):
            try:
                if monotonic() >= self.valid_until:
                    self.renew(measure())
            finally:
                self.lock.release()
        assert self.state is not None  # noqa: S101 - says so to the type checker
        return self.state

    def renew(self, state: State) -> None:
        """Keep the state, and log if it is another than before."""
        before = self.state.fault if self.state else ""
        if state.fault and state.fault != before:
            logger.warning("Reports are read from the primary: %s", state.detail)
        elif before and not state.fault:
            logger.info("Reports are read from the replica again.")
        self.state = state
        self.valid_until = monotonic() + (FAULTY_SECONDS if state.fault else USABLE_SECONDS)


def measure() -> State:
    """Compare the replica with the primary."""
    try:
        now, position, timeline, *primary = fetch_row(DEFAULT_DB_ALIAS, PRIMARY_STATE_SQL)
        deadline = monotonic() + PATIENCE
        while True:
            is_replica, system, database, followed, is_current, last_commit = fetch_row(
                REPLICA, REPLICA_STATE_SQL, [position]
            )
            if [system, database] != primary:
                return State(None, ANOTHER_DATABASE, "REPORTS_DATABASE_URL leads to another database.")
            if not is_replica:
                return State(None, NOT_A_REPLICA, "REPORTS_DATABASE_URL leads to a server that is not a replica.")
            if followed != timeline:
                detail = f"the replica is on timeline {followed}, and the primary on {timeline}."
                return State(None, ANOTHER_TIMELINE, detail)
            as_of: datetime | None = now if is_current else last_commit
            if as_of is not None and now - as_of <= timedelta(seconds=settings.REPORTS_MAX_LAG):
                return State(as_of)
            if monotonic() > deadline:
                known = f"has commits until {render_timestamp(as_of)}" if as_of else "has replayed no commit yet"
                beyond = f"which is beyond REPORTS_MAX_LAG={settings.REPORTS_MAX_LAG} seconds."
                return State(None, LAGGING, f"the replica {known}, {beyond}")
            sleep(PATIENCE / 10)
    except Error as error:
        detail = (
            f"comparing the replica with the primary failed ({outage_cause(error)}): {' '.join(str(error).split())}"
        )
        return State(None, outage_cause(error), detail)


def fetch_row(alias: str, sql: str, parameters: Sequence[str] = ()) -> list[Any]:
    with connections[alias].cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchone())


replica = Replica()


class Reading:
    """Chooses the server that one reply reads from.

    `as_of` is the time of the replica's data, and None for the primary. With `may_lag=False` it is always the primary.
    """

    def __init__(self, *, may_lag: bool = True) -> None:
        self.as_of: datetime | None = None
        if may_lag and REPLICA in settings.DATABASES:
            self.as_of, fault, _ = replica.current()
            reads.labels(fault or REPLICA).inc()

    def read(self, make: Callable[[], T]) -> T:
        """Return what `make` reads.

        What fails on the replica is repeated on the primary, and further reads stay there: the replica may be gone,
        cancel a statement that its replay conflicts with (SQLSTATE 40001), or lack a table or row that is new.
        """
        if self.as_of is None:
            return make()
        token = alias_to_read.set(REPLICA)
        try:
            return make()
        except Exception as error:
            if statement_timeout.was_ended(error) or statement_timeout.is_for_nobody():
                raise
            logger.info("Repeated on the primary what failed on the replica: %s", error)
            reads.labels("failed").inc()
        finally:
            alias_to_read.reset(token)
        self.as_of = None
        return make()

    @property
    def headers(self) -> dict[str, str]:
        """The header that says how old the figures of a reply may be."""
        return {} if self.as_of is None else {"As-Of": str(render_timestamp(self.as_of))}
