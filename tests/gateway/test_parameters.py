"""Parameters of SQL statements on the event loop (kit.storage.async_postgres)."""

import pytest
from asgiref.sync import async_to_sync
from django.db import connection

from kit.storage.async_postgres import Parameter, Sessions

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor == "sqlite", reason="On SQLite threads run the statements."),
]
ONE, TWO = "01a2060823da759fb1dd32fe718b2648", "01a20608ac07766b9c99f78444590181"


UUIDS = "SELECT replace(one::text, '-', '') FROM unnest(%s::uuid[]) AS one"
BYTES = "SELECT encode(one, 'hex') FROM unnest(%s::bytea[]) AS one"


@pytest.mark.parametrize(
    ("statement", "sent", "arrived"),
    [
        (UUIDS, [ONE, TWO], [ONE, TWO]),
        (UUIDS, [], []),
        (BYTES, [b"\x00one", b""], [b"\x00one".hex(), ""]),
    ],
)
def test_the_elements_of_a_list_arrive_in_their_order(statement: str, sent: Parameter, arrived: list[str]) -> None:
    async def rows() -> list[str]:
        sessions = Sessions()
        try:
            found = await sessions.run(statement, [sent])
        finally:
            for session in sessions.idle:
                session.close()
        return [(value or b"").decode() for [value] in found]

    assert async_to_sync(rows)() == arrived
