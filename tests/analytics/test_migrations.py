from datetime import UTC, datetime

import pytest
from django.core.management import call_command

from analytics.usage.report import usage_report
from analytics.windows import Window
from tests.analytics.recording import record_all, some_events

BEGIN = datetime(2025, 10, 20, tzinfo=UTC)
WINDOW = Window(datetime(2025, 9, 30, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC), "day")


@pytest.fixture
def latest():
    """Restore the current tables after each test."""
    yield
    call_command("migrate", verbosity=0)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_usage_survives_the_new_order_of_columns_and_the_way_back(account, latest):
    record_all(some_events(account, 300, BEGIN, 120, seed=3))
    report = usage_report([account.pk], WINDOW)
    assert report["summary"]["totalRequests"] == 300

    call_command("migrate", "analytics", "0011", verbosity=0)
    assert usage_report([account.pk], WINDOW) == report
    call_command("migrate", "analytics", "0012", verbosity=0)
    assert usage_report([account.pk], WINDOW) == report
    call_command("migrate", verbosity=0)  # the command needs the tables of this version
    call_command("rebuild_usage", "--check")
