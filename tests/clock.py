"""A clock that tests set and advance."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import DateTimeField, Value


class Clock:
    """The service's clock in tests: decisions, keys, idempotency records and plan limits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
        self.now = now
        monkeypatch.setattr("django.utils.timezone.now", lambda: self.now)
        monkeypatch.setattr("kit.storage.reading.database_time", lambda: self.now)
        monkeypatch.setattr("kit.storage.clocks.ClockTimestamp", lambda: Value(self.now, DateTimeField()))
        monkeypatch.setattr("accounts.limits.limiter.time.time", self.timestamp)

    def timestamp(self) -> float:
        return self.now.timestamp()

    def set(self, text: str) -> None:
        self.now = datetime.fromisoformat(text).astimezone(UTC)

    def advance(self, **delta: float) -> None:
        self.now += timedelta(**delta)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch, datetime(2026, 3, 4, 5, 6, 7, 250_000, UTC))
