"""Reserve primary keys for requesters that are stored later: a check is decided before its record creates them."""

from django.db import connection, transaction

from kit.storage.sqlite_turns import turn_to_write

POSTGRESQL = "SELECT nextval(pg_get_serial_sequence('licensing_requester', 'id')) FROM generate_series(1, %s::int)"
# SQLite keeps the table's highest primary key here.
SQLITE = "UPDATE sqlite_sequence SET seq = seq + %s WHERE name = 'licensing_requester' RETURNING seq"
FIRST_ON_SQLITE = "INSERT INTO sqlite_sequence (name, seq) VALUES ('licensing_requester', %s)"


def reserve(count: int) -> list[int]:
    """Reserve `count` primary keys. Unused ones are never assigned again."""
    with turn_to_write(), transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(POSTGRESQL, [count])
            return [number for (number,) in cursor.fetchall()]
        cursor.execute(SQLITE, [count])
        row = cursor.fetchone()
        if row is None:
            cursor.execute(FIRST_ON_SQLITE, [count])
        last = count if row is None else row[0]
    return list(range(last - count + 1, last + 1))
