"""/metrics shows whether background jobs succeed, what waits, and how old the archive is."""

import asyncio
import os
from datetime import UTC, date, datetime, timedelta
from time import time

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from accounts.webhooks.models import WebhookDelivery, WebhookEndpoint
from analytics.archive.models import ArchivedMonth
from config.jobs import JOBS_OF_EACH_PROCESS, SHARED_JOBS, Job, run_job
from kit.storage.postgresql.pool_use import note_pool_use
from kit.telemetry.metrics import Workers
from tests import factories
from tests.observability.scrape import scrape, value

LAST = "licensing_job_last_success_timestamp_seconds"
BACKLOG, ARCHIVE = "licensing_webhook_backlog_age_seconds", "licensing_archive_end_timestamp_seconds"
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("patient")]


def fail():
    raise OperationalError("the database is away")


def test_every_job_shows_when_it_last_succeeded():
    samples = scrape()
    jobs = [*JOBS_OF_EACH_PROCESS, *SHARED_JOBS]
    names = {job.task for job in jobs}
    assert len(names) == len(jobs)
    assert {"book_regularly", "close_due", "roll_up", "compare_clocks"} <= names
    assert all(f'{LAST}{{task="{name}"}}' in samples for name in names)
    began = time()
    asyncio.run(run_job(Job(int, 1, "It failed", name="book_regularly")))
    succeeded = value(scrape(), LAST, task="book_regularly")
    assert succeeded >= began
    asyncio.run(run_job(Job(fail, 1, "It failed", name="book_regularly")))
    assert value(scrape(), LAST, task="book_regularly") == succeeded


def test_the_backlog_is_as_old_as_its_oldest_delivery_that_is_due(account):
    assert value(scrape(), BACKLOG) == 0
    factories.webhook(account)
    WebhookDelivery.objects.update(due_at=timezone.now() + timedelta(hours=1))
    assert value(scrape(), BACKLOG) == 0
    WebhookDelivery.objects.update(due_at=timezone.now() - timedelta(hours=1))
    assert 3_600 <= value(scrape(), BACKLOG) < 3_700
    WebhookEndpoint.objects.update(paused_until=timezone.now() + timedelta(hours=1))
    assert value(scrape(), BACKLOG) == 0


def test_the_archive_ends_with_its_newest_month(account):
    assert ARCHIVE not in scrape()
    month = ArchivedMonth(account=account, month=date(2025, 12, 1), is_current=True, rows=7, checksum=1)
    month.save()
    assert value(scrape(), ARCHIVE) == datetime(2026, 1, 1, tzinfo=UTC).timestamp()
    ArchivedMonth.objects.update(rows=None)
    assert ARCHIVE not in scrape()


def test_the_pool_shows_its_connections():
    note_pool_use()
    samples = scrape()
    states = {state: value(samples, "licensing_database_pool_connections", state=state) for state in ("open", "most")}
    if getattr(connection, "pool", None) is not None:
        assert states["most"] >= states["open"] >= 1
    assert value(samples, "licensing_database_pool_waiting") == 0


def test_the_workers_of_a_service_are_measured_together():
    own = {metric.name: metric.samples[0].value for metric in Workers([os.getpid()]).collect()}
    twice = {metric.name: metric.samples[0].value for metric in Workers([os.getpid()] * 2).collect()}
    assert own.keys() == twice.keys()
    assert twice["process_start_time_seconds"] == own["process_start_time_seconds"]
    assert twice["process_resident_memory_bytes"] > 1.5 * own["process_resident_memory_bytes"]
