import pytest
from asgiref.sync import async_to_sync
from django.db import OperationalError, connection

from kit.storage.postgresql.async_postgres import Parameter, Sessions

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


def test_a_statement_ends_in_postgresql_before_its_request_is_answered_by_503(settings) -> None:
    settings.STATEMENT_SECONDS = 1
    table = "CREATE TABLE IF NOT EXISTS late (number int)"
    running = """SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'active' AND query LIKE 'INSERT INTO late%'"""

    async def late() -> list[bytes | None]:
        sessions = Sessions()
        await sessions.run(table)
        try:
            with pytest.raises(OperationalError, match="statement timeout"):
                await sessions.run("INSERT INTO late SELECT 1 FROM pg_sleep(2)")
            assert await sessions.run(running) == [[b"0"]]
            [found] = await sessions.run("SELECT count(*) FROM late")
            await sessions.run("DROP TABLE late")
        finally:
            for session in sessions.idle:
                session.close()
        return found

    assert async_to_sync(late)() == [b"0"]
