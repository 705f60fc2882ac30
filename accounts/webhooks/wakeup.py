"""Wakes this process's webhook workers when something is queued. Other processes poll the outbox."""

from collections.abc import Callable

from django.db import transaction

workers: set[Callable[[], object]] = set()  # each is thread-safe


def wake_workers() -> None:
    for wake in list(workers):
        wake()


def after_commit() -> None:
    if workers:
        transaction.on_commit(wake_workers, robust=True)
