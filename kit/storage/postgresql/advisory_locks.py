"""Locks by name, which a transaction holds until it ends."""

from django.db import connection


def lock_name(name: int | str, *, shared: bool = False) -> None:
    """Take PostgreSQL's advisory lock of this name until the transaction ends. SQLite has one writer anyway."""
    if connection.vendor == "postgresql":
        run_lock(f"pg_advisory_xact_lock{'_shared' if shared else ''}", name)


def try_to_lock_name(name: int | str) -> bool:
    """Take the lock like `lock_name` if it is free. Returns False if another transaction holds it."""
    return connection.vendor != "postgresql" or run_lock("pg_try_advisory_xact_lock", name) is True


def run_lock(function: str, name: int | str) -> object:
    number = "hashtextextended(%s, 0)" if isinstance(name, str) else "%s"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}({number})", [name])
        [taken] = cursor.fetchone()
    return taken
