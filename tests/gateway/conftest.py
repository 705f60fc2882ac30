"""Fixtures for checks on the event loop. Tests that are coroutines run on one."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from accounts.models import Account, ApiKey
from kit.http.errors import ApiError
from kit.storage.postgresql.async_postgres import Sessions
from licensing.access.check_values import Check
from licensing.access.deciding import Answer
from licensing.access.event_loop.application import CheckApplication
from licensing.access.event_loop.callers import Sender
from licensing.access.event_loop.gateway import Gateway
from tests import factories
from tests.clock import clock  # noqa: F401 - a fixture
from tests.ways import Connect, GatewayClient


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine on an event loop; what it calls in threads runs on the test's own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    async_to_sync(pyfuncitem.obj)(**{name: pyfuncitem.funcargs[name] for name in names})
    return True


@pytest.fixture
def connect(application: CheckApplication) -> Connect:
    """Create clients whose checks run on an event loop, as in a server."""
    return lambda key: GatewayClient(key, application)


@contextmanager
def closed(sessions: Sessions) -> Iterator[Sessions]:
    """Close the sessions with PostgreSQL at the end of the block."""
    try:
        yield sessions
    finally:
        for session in sessions.idle:
            session.close()


class Ask:
    """Make checks through a process's gateway, with a key of the account."""

    def __init__(self, gateway: Gateway, key: ApiKey, text: str) -> None:
        self.gateway, self.key, self.authorization = gateway, key, f"Bearer {text}"

    def __call__(self, check: Check) -> Answer | ApiError:
        sender = Sender(self.gateway.callers, self.authorization, None)
        self.now = timezone.now()
        [answer] = async_to_sync(sender.serve)(lambda: self.gateway.check(sender, [check], self.now))
        return answer


@pytest.fixture
def ask(account: Account, application: CheckApplication) -> Ask:
    return Ask(application.gateway, *factories.api_key(account))
