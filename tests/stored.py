"""Reading everything that the database stores, and filling a table."""

from django.db import connection
from django.db.models import Model


def everything_stored() -> bytes:
    """Return every value of every table, as bytes."""
    with connection.cursor() as cursor:
        values = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608 - names from the database
            values += [value for row in cursor.fetchall() for value in row]
    return b"\n".join(bytes(v) if isinstance(v, bytes | memoryview) else str(v).encode() for v in values)


def multiply(row: Model, count: int, **columns: str) -> None:
    """Insert copies of a row on PostgreSQL, and ANALYZE. `columns` are expressions of a copy's number `n`."""
    table, columns = row._meta.db_table, {"id": "md5(n::text)::uuid", **columns}
    differing = ", ".join(f"'{name}', {value}" for name, value in columns.items())
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} SELECT copy.* FROM {table} AS made, generate_series(1, %s) AS n, "  # noqa: S608
            f"jsonb_populate_record(made, jsonb_build_object({differing})) AS copy WHERE made.id = %s",
            [count, row._meta.pk.get_db_prep_value(row.pk, connection)],
        )
        cursor.execute(f"ANALYZE {table}")
