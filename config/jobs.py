"""Background jobs: those of each process, and those that one process runs for all (config.background)."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from django.conf import settings
from django.db import OperationalError, connection

from accounts.limits import events as limit_events
from accounts.plans import epochs
from analytics.events.partitions import ensure_partitions
from analytics.ledger.due import book_regularly
from analytics.rollups.roll_up import INTERVAL, roll_up
from analytics.statements.closing import close_due
from kit.http.errors import ServiceUnavailable
from kit.storage.clocks import watch
from kit.storage.outage_causes import is_outage, log_failure
from kit.storage.postgresql.pool_use import note_pool_use
from kit.storage.reading import stored_now
from kit.storage.summaries import summarize_new_blocks
from kit.telemetry.jobs import create_series, job_name, observe_job
from licensing.customers import erasure
from licensing.customers.history import move_history
from licensing.edge.current_crawlers import fetch_published_lists
from licensing.edge.verification.models import forget_outdated_names
from licensing.edge.verification.published_lists import stored_lists, uses_published_lists
from licensing.policies import rate_limits
from licensing.visits import counting
from licensing.visits.former_counts import move_former_counts
from licensing.visits.retention import purge_pages

if settings.ADMIN:
    from operators.catalogue.uploads import purge

logger = logging.getLogger(__name__)

DAY = 86_400
CLOCK_SECONDS = 10  # before a wrong clock is noticed
CLOSING_SECONDS = 600  # between checks for months to close
SETTLING_SECONDS = 60  # delay of entries and events of unused wallets
LIMIT_EVENTS_SECONDS = 1  # delay of an event about a limit
FORGETTING_SECONDS = 60
SUMMARIZING_SECONDS = 60
ERASING_SECONDS = 60
LISTS_SECONDS = 600  # between looks for address lists that are due
READING_LISTS_SECONDS = 5  # before a process knows a list that another one has fetched


@dataclass(frozen=True)
class Job:
    """A job that runs `act` in a thread every `seconds` if `is_due`; first at startup, unless `delayed`.

    Two processes may run it at once, while one takes it over. A failure is logged with `complaint` and does not stop
    the job; `expected` exceptions, which lose nothing, are logged without a traceback.
    """

    act: Callable[[], object]
    seconds: float
    complaint: str
    delayed: bool = False
    expected: tuple[type[Exception], ...] = ()
    is_due: Callable[[], bool] = lambda: True
    name: str = ""  # in metrics; by default that of `act`

    @property
    def task(self) -> str:
        return self.name or job_name(self.act)


def forget_counts() -> None:
    rate_limits.delete_ended_counts(stored_now())


def make_partitions() -> None:
    ensure_partitions(stored_now())


# Only this process knows which limits its requests used up, so this job also runs at shutdown.
LIMIT_EVENTS_JOB = Job(
    limit_events.write_queued,
    LIMIT_EVENTS_SECONDS,
    "That limits are used up could not be told; trying again",
    delayed=True,
    name="write_limit_events",
    is_due=lambda: bool(limit_events.waiting),
)
JOBS_OF_EACH_PROCESS = [
    Job(
        watch.agrees,
        CLOCK_SECONDS,
        "This machine's clock could not be compared with PostgreSQL's; trying again",
        name="compare_clocks",
    ),
    Job(note_pool_use, CLOCK_SECONDS, "The use of the connection pool could not be counted; trying again"),
    Job(
        stored_lists.read,
        READING_LISTS_SECONDS,
        "Address lists of crawlers could not be read; trying again",
        is_due=uses_published_lists,
        name="read_published_lists",
    ),
    LIMIT_EVENTS_JOB,
]
SHARED_JOBS = [
    Job(make_partitions, DAY, "The partitions of the coming months could not be made; trying again in a day"),
    Job(
        summarize_new_blocks,
        SUMMARIZING_SECONDS,
        "New blocks of long lists could not be summarised; trying again",
        expected=(OperationalError,),  # searches read them
    ),
    Job(
        partial(roll_up, age=INTERVAL),
        INTERVAL.total_seconds(),
        "What was recorded could not be added to the rollups; trying again",
        delayed=True,
        expected=(OperationalError,),  # reports include pending rows
    ),
    Job(
        counting.count_visits,
        counting.RUN_INTERVAL.total_seconds(),
        "Visits at the edge could not be counted; trying again",
        expected=(OperationalError,),  # the report includes uncounted visits
    ),
    Job(
        purge_pages,
        DAY,
        "Old counts of pages could not be deleted; trying again in a day",
        expected=(OperationalError,),
    ),
    Job(
        move_former_counts,
        DAY,
        "Visits that an earlier version counted could not be moved; trying again in a day",
        expected=(OperationalError,),
    ),
    Job(
        move_history,
        DAY,
        "The history of customers could not be moved to references; trying again in a day",
        delayed=True,  # an upgrade without stopping is over by then
        expected=(OperationalError,),
    ),
    Job(
        forget_counts,
        DAY,
        "Counts of rate limits whose windows have ended could not be deleted; trying again in a day",
        expected=(OperationalError,),
    ),
    Job(
        book_regularly,
        SETTLING_SECONDS,
        "Fees of licences, or ends and refills of wallets, could not be booked; trying again",
    ),
    Job(close_due, CLOSING_SECONDS, "A month of statements could not be closed; trying again"),
    Job(
        erasure.finish_interrupted_erasures,
        ERASING_SECONDS,
        "An erasure that was interrupted could not be finished; trying again",
        expected=(ServiceUnavailable,),
        name="finish_erasures",
    ),
    Job(
        forget_outdated_names, DAY, "Outdated names of crawlers' addresses could not be deleted; trying again in a day"
    ),
    Job(
        fetch_published_lists,
        LISTS_SECONDS,
        "Address lists of crawlers could not be fetched; trying again",
        is_due=uses_published_lists,
    ),
    Job(
        epochs.forget_changes,
        FORGETTING_SECONDS,
        "What old epochs changed could not be deleted; trying again",
        delayed=True,
        name="forget_epochs",
    ),
]
if settings.ADMIN:
    complaint = "Old uploads could not be removed, and uploads in the admin may fail; trying again in a day"
    JOBS_OF_EACH_PROCESS.append(Job(purge, DAY, complaint, expected=(OSError,), name="purge_uploads"))
for job in (*JOBS_OF_EACH_PROCESS, *SHARED_JOBS):
    create_series(job.task)


async def run_repeatedly(job: Job) -> None:
    if job.delayed:
        await asyncio.sleep(job.seconds)
    while True:
        await run_job(job)
        await asyncio.sleep(job.seconds)


async def run_job(job: Job) -> None:
    if not job.is_due():
        return
    try:
        with observe_job(job.task):
            await asyncio.to_thread(with_own_connection, job.act)
    except Exception as error:
        if isinstance(error, job.expected) and not is_outage(error):
            logger.warning("%s: %s", job.complaint, error)
        else:
            log_failure(logger, job.complaint, error)


def with_own_connection(act: Callable[[], object]) -> None:
    try:
        act()
    finally:
        connection.close()
