"""Fixtures of the whole suite. `api` is a client whose key may do everything, on an account without tight limits."""

import os
from collections.abc import Iterator
from threading import Event

import pytest
from django.conf import settings
from django.db import connection

from accounts.limits.limiter import limiter
from accounts.models import Account
from kit import statements
from licensing.access.signing import forget_signer
from tests import append_only, factories
from tests.client import ApiClient


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names a case of bytes by its argument: an archive has the second it was packed in it, and all workers of a
    parallel run must give a test one name."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True, scope="session")
def _own_redis_database() -> None:
    """Gives each worker of a parallel run a Redis database of its own."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    if settings.REDIS_URL:
        settings.CACHES["default"]["LOCATION"] = f"{settings.REDIS_URL.rstrip('/').removesuffix('/0')}/{worker}"


@pytest.fixture(autouse=True, scope="session")
def _what_is_append_only_can_be_emptied() -> None:
    """Lets the tests that commit empty all tables afterwards, though triggers guard the audit log and the ledger."""
    flush = connection.ops.execute_sql_flush

    def unlocked_flush(statements: list[str]) -> None:
        unlock, lock = append_only.unlocking()
        flush([*unlock, *statements, *lock])

    connection.ops.execute_sql_flush = unlocked_flush  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def _limits_begin_at_zero() -> None:
    """Each test counts from nothing, in Redis too."""
    limiter.forget_all()
    forget_signer()


@pytest.fixture
def account(db: None) -> Account:
    return factories.account()


@pytest.fixture
def other_account(db: None) -> Account:
    return factories.account(name="Other")


@pytest.fixture
def api(account: Account) -> ApiClient:
    return ApiClient(factories.key_text(account))


@pytest.fixture
def other_api(other_account: Account) -> ApiClient:
    return ApiClient(factories.key_text(other_account))


@pytest.fixture
def anonymous(db: None) -> ApiClient:
    return ApiClient(None)


@pytest.fixture
def for_nobody() -> Iterator[None]:
    """The client of what is worked out has gone."""
    gone = Event()
    gone.set()
    token = statements.bound.set(statements.Bound(30, gone))
    yield
    statements.bound.reset(token)
