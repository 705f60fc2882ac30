"""Shared fixtures: rows that are created once for all tests of a module.

A transaction surrounds the module's tests, and each test writes into its own savepoint within it, as Django's TestCase
does for its class. Not for modules with tests that commit (`transaction=True`).
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import count

import pytest
from django.db import transaction
from pytest_django import DjangoDbBlocker

from accounts.models import Account
from licensing.access.lookup.pages import compiled_policies
from licensing.licenses.compiled import compiled_licenses

Unblock = Callable[[], AbstractContextManager[None]]
epochs = count(1_000, 1_000)


@pytest.fixture(scope="module")
def for_the_module(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Unblock]:
    """Keep data that module-scoped fixtures write within `with for_the_module():` until the module ends."""
    with django_db_blocker.unblock():
        around = transaction.atomic()
        around.__enter__()
    yield django_db_blocker.unblock
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        around.__exit__(None, None, None)


def as_new(account_id: str) -> Account:
    """Return a shared account with an unused epoch and nothing cached.

    Changes by earlier tests were rolled back, and this test's changes start from the same numbers again.
    """
    compiled_policies.cached.clear()
    compiled_licenses.cached.clear()
    Account.objects.filter(pk=account_id).update(epoch=next(epochs))
    return Account.objects.get(pk=account_id)
