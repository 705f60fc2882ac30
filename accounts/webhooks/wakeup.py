"""Waking the workers of this process when something is queued. Those of other processes find it when they look."""

from collections.abc import Callable

from django.db import transaction

workers: set[Callable[[], object]] = set()  # each may be called from any thread


def wake_workers() -> None:
    for wake in list(workers):
        wake()


def after_commit() -> None:
    if workers:
        transaction.on_commit(wake_workers, robust=True)
