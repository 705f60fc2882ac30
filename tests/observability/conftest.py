"""Run checks on the event loop where possible, otherwise through Django, as a server does."""

import logging
from collections.abc import Iterator

import pytest

from accounts.models import Account
from kit.telemetry import tables
from kit.telemetry.logs import JsonLines
from licensing.content.models import Content
from tests import factories
from tests.gateway.conftest import connect  # noqa: F401 - a fixture
from tests.observability.log_output import Log


@pytest.fixture
def item(account: Account) -> Content:
    return factories.content(account, policy_id=factories.policy(account).pk)


@pytest.fixture
def log(request: pytest.FixtureRequest) -> Iterator[Log]:
    made = Log(getattr(request, "param", JsonLines)())
    root = logging.getLogger()
    before = root.level
    root.addHandler(made.handler)
    root.setLevel(logging.DEBUG)
    yield made
    root.removeHandler(made.handler)
    root.setLevel(before)


@pytest.fixture
def access_log(settings):
    settings.ACCESS_LOG = True


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a busy machine read figures and sizes late."""
    monkeypatch.setattr(tables, "SCRAPE_SECONDS", 60)
