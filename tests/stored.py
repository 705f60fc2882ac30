"""Everything that the database stores, to search it for secrets."""

from django.db import connection


def everything_stored() -> bytes:
    """Return every value of every table, as bytes."""
    with connection.cursor() as cursor:
        values = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608 - names from the database
            values += [value for row in cursor.fetchall() for value in row]
    return b"\n".join(bytes(v) if isinstance(v, bytes | memoryview) else str(v).encode() for v in values)
