"""Adds numbers to rows by one statement, without reading them before."""

from collections.abc import Sequence

from django.db import connection
from django.db.models import Field, Model

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
    is_postgresql = connection.vendor == "postgresql"
    changes = add_excluded(numbers)
    if latest:
        changes += f", {latest} = {'greatest' if is_postgresql else 'max'}(u.{latest}, excluded.{latest})"
    types = ", ".join(f"%s::{field.db_type(connection)}[]" for field in fields)
    source = f"SELECT * FROM unnest({types})" if is_postgresql else f"VALUES ({', '.join(['%s'] * len(fields))})"  # noqa: S608
    statement = (
        f"INSERT INTO {model._meta.db_table} AS u ({', '.join(columns)}) {source} "
        f"ON CONFLICT ({', '.join(columns[: len(key)])}) DO UPDATE SET {changes}"
    )
    with connection.cursor() as cursor:
        for start in range(0, len(rows), ROWS):
            some = [column[start : start + ROWS] for column in prepared]
            if is_postgresql:
                cursor.execute(statement, list(map(array_literal, some)))
            else:
                cursor.executemany(statement, list(zip(*some, strict=True)))


def prepared_values(field: "Field[object, object]", values: Sequence[object]) -> list[object]:
    """Return the values as the database takes them. Each is prepared once, because many rows share them."""
    known = {value: field.get_db_prep_save(value, connection) for value in set(values)}
    return [known[value] for value in values]


def array_literal(values: Sequence[object]) -> str:
    """Return values without None as PostgreSQL writes an array. psycopg takes several times as long for it."""
    known = {value: '"' + str(value).replace("\\", r"\\").replace('"', r"\"") + '"' for value in set(values)}
    return "{" + ",".join([known[value] for value in values]) + "}"
