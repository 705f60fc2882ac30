"""Adds numbers to rows by one statement, without reading them before."""

from collections.abc import Sequence

from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.db.models import Field, Model

from kit.storage.by_database import by_database

ROWS = 5_000  # per statement


def add_excluded(columns: Sequence[str]) -> str:
    """Return the assignments of an upsert, whose table is called `u`, that add to its columns."""
    return ", ".join(f"{column} = u.{column} + excluded.{column}" for column in columns)


def add_numbers(
    model: type[Model], key: Sequence[str], numbers: Sequence[str], rows: Sequence[Sequence[object]], latest: str = ""
) -> None:
    """Insert the rows, or add their numbers to those with the same key. The later value of `latest` is kept.

    Rows have the columns of `key`, `numbers` and `latest`, in this order, and different keys.
    """
    if not rows:
        return
    by_name = {field.name: field for field in model._meta.concrete_fields}
    fields = [by_name[name] for name in (*key, *numbers, *([latest] if latest else []))]
    columns = [str(field.column) for field in fields]
    prepared = [prepared_values(field, column) for field, column in zip(fields, zip(*rows, strict=True), strict=True)]
    changes = add_excluded(numbers)
    if latest:
        latest_of = by_database(postgresql="greatest", sqlite="max")
        changes += f", {latest} = {latest_of}(u.{latest}, excluded.{latest})"
    types = ", ".join(f"%s::{field.db_type(connection)}[]" for field in fields)
    marks = ", ".join(["%s"] * len(fields))
    source = by_database(postgresql=f"SELECT * FROM unnest({types})", sqlite=f"VALUES ({marks})")  # noqa: S608
    run = by_database(postgresql=run_on_arrays, sqlite=run_for_each)
    statement = (
        f"INSERT INTO {model._meta.db_table} AS u ({', '.join(columns)}) {source} "
        f"ON CONFLICT ({', '.join(columns[: len(key)])}) DO UPDATE SET {changes}"
    )
    with connection.cursor() as cursor:
        for start in range(0, len(rows), ROWS):
            run(cursor, statement, [column[start : start + ROWS] for column in prepared])


def run_on_arrays(cursor: CursorWrapper, statement: str, columns: Sequence[Sequence[object]]) -> None:
    cursor.execute(statement, list(map(array_literal, columns)))


def run_for_each(cursor: CursorWrapper, statement: str, columns: Sequence[Sequence[object]]) -> None:
    cursor.executemany(statement, list(zip(*columns, strict=True)))


def prepared_values(field: "Field[object, object]", values: Sequence[object]) -> list[object]:
    """Return the values as the database takes them. Each is prepared once, because many rows share them."""
    known = {value: field.get_db_prep_save(value, connection) for value in set(values)}
    return [known[value] for value in values]


def array_literal(values: Sequence[object]) -> str:
    """Return values without None as PostgreSQL writes an array. psycopg takes several times as long for it."""
    known = {value: '"' + str(value).replace("\\", r"\\").replace('"', r"\"") + '"' for value in set(values)}
    return "{" + ",".join([known[value] for value in values]) + "}"
