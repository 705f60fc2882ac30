"""A clock that tests set and advance."""

from datetime import UTC, datetime, timedelta

import pytest
from django.apps import apps
from django.db.models import DateTimeField, Value
from django.utils import timezone

DEFAULTS_TO_NOW = [
    field for model in apps.get_models() for field in model._meta.local_fields if field.default is timezone.now
]


class Clock:
    """The service's clock in tests: decisions, keys, idempotency records and plan limits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
        self.now = now
        monkeypatch.setattr("django.utils.timezone.now", lambda: self.now)
        monkeypatch.setattr("kit.storage.reading.database_time", lambda: self.now)
        monkeypatch.setattr("kit.storage.clocks.ClockTimestamp", lambda: Value(self.now, DateTimeField()))
        monkeypatch.setattr("accounts.limits.limiter.time.time", self.timestamp)
        for field in DEFAULTS_TO_NOW:
            monkeypatch.setattr(field, "_get_default", lambda: self.now)

    def timestamp(self) -> float:
        return self.now.timestamp()

    def set(self, text: str) -> None:
        self.now = datetime.fromisoformat(text).astimezone(UTC)

    def advance(self, **delta: float) -> None:
        self.now += timedelta(**delta)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch, datetime(2026, 3, 4, 5, 6, 7, 250_000, UTC))
