"""Reserve primary keys for requesters that are stored later: a check is decided before its record creates them."""

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from kit.storage.by_database import by_database
from kit.storage.sqlite_turns import turn_to_write

POSTGRESQL_SQL = "SELECT nextval(pg_get_serial_sequence('licensing_requester', 'id')) FROM generate_series(1, %s::int)"
# SQLite keeps the table's highest primary key here.
SQLITE_SQL = "UPDATE sqlite_sequence SET seq = seq + %s WHERE name = 'licensing_requester' RETURNING seq"
FIRST_ON_SQLITE = "INSERT INTO sqlite_sequence (name, seq) VALUES ('licensing_requester', %s)"


def reserve_numbers(count: int) -> list[int]:
    """Reserve `count` primary keys. Unused ones are never assigned again."""
    take = by_database(postgresql=take_on_postgresql, sqlite=take_on_sqlite)
    with turn_to_write(), transaction.atomic(), connection.cursor() as cursor:
        return take(cursor, count)


def take_on_postgresql(cursor: CursorWrapper, count: int) -> list[int]:
    cursor.execute(POSTGRESQL_SQL, [count])
    return [number for (number,) in cursor.fetchall()]


def take_on_sqlite(cursor: CursorWrapper, count: int) -> list[int]:
    cursor.execute(SQLITE_SQL, [count])
    row = cursor.fetchone()
    if row is None:
        cursor.execute(FIRST_ON_SQLITE, [count])
        row = (count,)
    [last] = row
    return list(range(last - count + 1, last + 1))
