"""Copy a SQLite installation into an empty PostgreSQL database, table by table.

`default` is the target, so that whatever depends on the database (partitions, rollups) works on it. Each batch commits
with the number of rows copied so far, so a killed copy resumes after the last batch.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import islice
from typing import NamedTuple

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, connections, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Field, ForeignKey, Model

from analytics.events.partitions import ensure_partitions, month_after, month_start
from analytics.models import AccessEvent
from kit.storage.by_database import by_database

SOURCE = "source"
PROGRESS = "copy_progress"  # a table of the target while a copy is under way
VERIFIED = "verified"  # its row once every table is copied and verified
LOCK = 7_202_611_044  # an arbitrary advisory lock number
SEEDED = {"contenttypes.ContentType", "auth.Permission", "auth.Group", "auth.Group_permissions"}  # by `migrate`
BATCH_ROWS = 1_000
INTEGERS = {"IntegerField", "BigIntegerField", "PositiveIntegerField", "PositiveBigIntegerField", "SmallIntegerField"}
HALF = 1_000_000  # SQLite sums the quotients and remainders separately, as a sum of 64-bit integers may overflow

Show = Callable[[str], None]


class CopyError(Exception):
    """Why the copy stopped, in a sentence."""


class Totals(NamedTuple):
    """The number of rows of a table, and the sums of its integer columns."""

    rows: int
    sums: tuple[int, ...]


def copy(show: Show) -> dict[str, int]:
    """Copy every table and verify it. Returns the number of rows by table. `finish` ends the copy.

    Raises CopyError if the target is of another version, has data that no interrupted copy left, or is being filled by
    another process.
    """
    check_versions()
    take_turn()
    models = sort_models()
    if not is_under_way():
        begin_copy(models)
    progress_by_model = read_progress()
    if VERIFIED not in progress_by_model:
        make_partitions()
        for model in models:
            copy_table(model, progress_by_model.get(model._meta.db_table, 0), show)
        verify(models)
        reset_sequences(models)
        note_progress(VERIFIED, 1)
    return {model._meta.db_table: count_totals(model, SOURCE).rows for model in models}


def finish() -> None:
    """Mark the target as complete, so that the service can start on it."""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE {PROGRESS}")


def take_turn() -> None:
    """Lock the target until this process ends. Raises CopyError if another copy holds the lock."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCK])
        if cursor.fetchone() != (True,):
            raise CopyError("Another copy_to is filling this target. Wait for it to end.")


def is_under_way() -> bool:
    """Whether the database is the target of a copy that has not ended."""
    return PROGRESS in connection.introspection.table_names()


def check_versions() -> None:
    source = set(MigrationRecorder(connections[SOURCE]).applied_migrations())
    target = set(MigrationRecorder(connections["default"]).applied_migrations())
    if source != target:
        missing = ", ".join(f"{app}.{name}" for app, name in sorted(source ^ target)[:5])
        raise CopyError(f"The databases are of different versions ({missing}). Run migrate on both first.")


def sort_models() -> list[type[Model]]:
    """Return all tables, each after those that it refers to."""
    remaining = [
        model for model in apps.get_models(include_auto_created=True) if model._meta.managed and not model._meta.proxy
    ]
    models: list[type[Model]] = []
    while remaining:
        ready = [model for model in remaining if not references(model) & set(remaining) - {model}]
        models += ready
        remaining = [model for model in remaining if model not in ready]
        if not ready:
            raise CopyError(f"Tables refer to each other in a circle: {remaining}.")
    return models


def references(model: type[Model]) -> set[type[Model]]:
    """The tables that foreign keys in the database refer to."""
    keys = [field for field in model._meta.concrete_fields if isinstance(field, ForeignKey) and field.db_constraint]  # type: ignore[attr-defined]
    return {field.related_model for field in keys}


def begin_copy(models: list[type[Model]]) -> None:
    """Mark the target as a copy under way, and empty what `migrate` fills: content types, permissions and roles.

    Raises CopyError if any other table has rows.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        if filled := sorted(
            model._meta.db_table
            for model in models
            if model._meta.label not in SEEDED and model._base_manager.exists()
        ):
            raise CopyError(f"The target is not empty: {', '.join(filled)}. Copy into a new database.")
        for model in reversed(models):
            table = connection.ops.quote_name(model._meta.db_table)
            cursor.execute(f"DELETE FROM {table}")  # noqa: S608 - a table of ours
        cursor.execute(f"CREATE TABLE {PROGRESS} (name text PRIMARY KEY, copied bigint NOT NULL)")


def read_progress() -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT name, copied FROM {PROGRESS}")  # noqa: S608 - a table of ours
        return dict(cursor.fetchall())


def note_progress(name: str, copied: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {PROGRESS} VALUES (%s, %s) "  # noqa: S608 - a table of ours
            "ON CONFLICT (name) DO UPDATE SET copied = excluded.copied",
            [name, copied],
        )


def make_partitions() -> None:
    """Create the monthly partitions of all decisions, so that old months can be dropped one by one."""
    decisions = AccessEvent._base_manager.using(SOURCE).order_by("pk")
    first = decisions.first()
    last = decisions.last()
    if first is None or last is None:
        return
    month = month_start(first.created)
    while month <= month_start(last.created):
        ensure_partitions(month, months_ahead=0)
        month = month_after(month)


def copy_table(model: type[Model], copied: int, show: Show) -> None:
    """Copy the rows behind the first `copied`, in batches that commit with their number."""
    name = model._meta.db_table
    source = model._base_manager.using(SOURCE)
    if count := source.count():
        show(f"{name}: {count:,} rows")
    rows = source.order_by("pk")[copied:].iterator(chunk_size=BATCH_ROWS)
    fields = [field for field in model._meta.local_concrete_fields if not field.generated]
    # A row may refer to a later one of its own table: the database checks that when the transaction commits.
    transaction_of_table = transaction.atomic() if model in references(model) else nullcontext()
    with transaction_of_table:
        for batch in batches(rows):
            copied += len(batch)
            with transaction.atomic():
                model._base_manager._insert(batch, fields=fields, using="default", raw=True)  # type: ignore[attr-defined]
                note_progress(name, copied)


def batches(rows: Iterator[Model]) -> Iterator[list[Model]]:
    while batch := list(islice(rows, BATCH_ROWS)):
        yield batch


def verify(models: list[type[Model]]) -> None:
    """Compare counts and sums of every table. Raises CopyError if one differs."""
    different = [
        model._meta.db_table for model in models if count_totals(model, SOURCE) != count_totals(model, "default")
    ]
    if different:
        raise CopyError(
            f"These tables differ: {', '.join(different)}. Was the service running? "
            "Stop it, empty the target, copy again."
        )


def count_totals(model: type[Model], alias: str) -> Totals:
    database = connections[alias]
    quote = database.ops.quote_name
    columns = [quote(str(field.column)) for field in model._meta.local_concrete_fields if is_integer(field)]
    table = quote(model._meta.db_table)
    halves = "sum({0} / {1}), sum({0} % {1})"
    sum_of = by_database(using=database, postgresql="sum({0}), 0", sqlite=halves)  # PostgreSQL's sums have no limit
    unit = by_database(using=database, postgresql=1, sqlite=HALF)
    sums = [sum_of.format(column, HALF) for column in columns]
    with database.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(['count(*)', *sums])} FROM {table}")  # noqa: S608 - names of ours
        rows, *sum_values = (int(value or 0) for value in cursor.fetchone())
    pairs = zip(sum_values[::2], sum_values[1::2], strict=True)
    return Totals(rows, tuple(high * unit + low for high, low in pairs))


def is_integer(field: "Field[object, object]") -> bool:
    return field.get_internal_type() in INTEGERS


def reset_sequences(models: list[type[Model]]) -> None:
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)
