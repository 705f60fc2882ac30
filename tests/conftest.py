"""Fixtures of the whole suite. `api` is a client with all permissions, on an account without tight limits."""

import gc
import os
from collections.abc import Generator, Iterator
from math import inf
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.template import Context, Template
from django.test import TransactionTestCase
from django.test.signals import template_rendered
from django.utils.safestring import SafeString
from whitenoise.middleware import WhiteNoiseMiddleware

from accounts.keys.callers import known_grants
from accounts.models import Account
from analytics.archive.horizon import horizon_cache
from kit import statement_timeout
from kit.rest.lists import counting
from licensing.access.tokens.signing import forget_signer
from licensing.edge.publishing import current_terms
from licensing.sites import refused_proxies
from tests import emptying, factories, served, site, standing, templates, ways
from tests.client import ApiClient
from tests.limits import forget_limits
from tests.selection import (  # noqa: F401 - hooks of pytest
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_ignore_collect,
    pytest_terminal_summary,
)
from tests.ways import Connect

application, connect, for_the_module = ways.application, ways.connect, standing.for_the_module  # fixtures
running, service = served.running, served.service
docs_site = site.docs_site


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name cases of bytes and of long texts by their argument.

    Archives contain the second they were packed in, but parallel workers must agree on test names. They send these
    names with each result.
    """
    return argname if isinstance(val, bytes) or (isinstance(val, str) and len(val) > 500) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without garbage collection, which takes a fifth of that time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Exclude collected tests and modules from garbage collection, as servers do."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(5_000, 20, 10)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """Copy the test database from a migrated template."""
    name = connection.settings_dict["TEST"]["NAME"] or f"test_{connection.settings_dict['NAME']}"
    if connection.vendor == "sqlite":
        templates.copy_of_sqlite(Path(name))
    else:
        templates.copy_on_postgresql(name)


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Use the copied database instead of creating one."""
    return True


@pytest.fixture(autouse=True, scope="session")
def _own_redis_database() -> None:
    """Give each parallel worker its own Redis database."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    if settings.REDIS_URL:
        settings.REDIS_URL = f"{settings.REDIS_URL.rstrip('/').removesuffix('/0')}/{worker}"


@pytest.fixture(autouse=True, scope="session")
def _tables_are_emptied_quickly() -> None:
    """Empty after each `transaction=True` test what it has filled, despite the append-only triggers."""
    set_up, made = TransactionTestCase._fixture_setup.__func__, list[emptying.Extent]()

    def set_up_and_remember(case: type[TransactionTestCase]) -> None:
        made[:] = made or emptying.extents_of_made()
        set_up(case)

    def tear_down(case: TransactionTestCase) -> None:
        emptying.empty_tables(made)

    TransactionTestCase._fixture_setup = classmethod(set_up_and_remember)
    TransactionTestCase._fixture_teardown = tear_down  # type: ignore[method-assign]


@pytest.fixture(autouse=True, scope="session")
def _passwords_are_hashed_quickly() -> None:
    """The production hash takes a third of a second."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True, scope="session")
def _whole_pages_are_told_of(django_test_environment: None) -> None:
    """Send `template_rendered` only for whole pages.

    Django copies the context for each of the 200 or more included templates of an admin page; no test uses those.
    """

    def render(self: Template, context: Context) -> SafeString:
        if context.template is self:
            template_rendered.send(sender=self, template=self, context=context)
        return self.nodelist.render(context)

    Template._render = render  # type: ignore[method-assign]


@pytest.fixture(autouse=True, scope="session")
def _files_are_looked_for_once() -> None:
    """Share WhiteNoise's file list: each test client would otherwise scan all static files."""
    look, found = WhiteNoiseMiddleware.add_files_from_finders, {}

    def add_files(self: WhiteNoiseMiddleware) -> None:
        if not found:
            look(self)
            found.update(self.files)
        self.files.update(found)

    WhiteNoiseMiddleware.add_files_from_finders = add_files


@pytest.fixture(autouse=True, scope="session")
def _a_busy_machine_answers_as_a_quick_one() -> None:
    """Publish changed terms and count rows however long that takes, instead of former terms and estimates."""
    current_terms.QUICK_SECONDS = inf
    counting.SECONDS = 600.0


@pytest.fixture(autouse=True)
def _decisions_are_in_the_database() -> None:
    """Know that nothing was moved to the archive, instead of asking for it every ten seconds.

    Otherwise a slow machine makes one query more. Tests of the archive clear the cache.
    """
    horizon_cache.begin, horizon_cache.valid_until = None, inf


@pytest.fixture(autouse=True)
def _limits_begin_at_zero() -> None:
    """Reset rate limits before each test, in Redis too, and forget the grants and refusals of its keys."""
    forget_limits()
    known_grants.clear()
    refused_proxies.noted.clear()
    forget_signer()


@pytest.fixture
def account(db: None) -> Account:
    return factories.account()


@pytest.fixture
def other_account(db: None) -> Account:
    return factories.account(name="Other")


@pytest.fixture
def api(account: Account, connect: Connect) -> ApiClient:
    return connect(factories.key_text(account))


@pytest.fixture
def other_api(other_account: Account, connect: Connect) -> ApiClient:
    return connect(factories.key_text(other_account))


@pytest.fixture
def anonymous(db: None, connect: Connect) -> ApiClient:
    return connect(None)


@pytest.fixture
def for_nobody() -> Iterator[None]:
    """Simulate a client that has disconnected."""
    token = statement_timeout.bound.set(statement_timeout.Bound(30, is_awaited=lambda: False))
    yield
    statement_timeout.bound.reset(token)
