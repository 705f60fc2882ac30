"""The choice between what is written for PostgreSQL and what is written for SQLite."""

from typing import TypeVar

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper

P = TypeVar("P")
S = TypeVar("S")


def by_database(*, postgresql: P, sqlite: S, using: BaseDatabaseWrapper = connection) -> P | S:
    """Return the statement, fragment or function for this service's database, or for that of `using`."""
    if using.vendor == "postgresql":
        return postgresql
    return sqlite
