"""kill -9 under load: every answered decision is stored once, used current facts, and is counted.

FAULT_KILLS overrides tests.examples: how often the server is killed, and PostgreSQL.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest

from tests.examples import rounds
from tests.faults.conftest import ON_POSTGRESQL, kills
from tests.faults.harness import Deployment
from tests.faults.ledger import Ledger
from tests.faults.traffic import statuses
from tests.services import Postgres

pytestmark = pytest.mark.faults

SERVER_KILLS = kills(rounds(8 if ON_POSTGRESQL else 3))
DATABASE_KILLS = kills(rounds(4))
REPLIES = 200  # before a kill
PATIENCE = 15  # seconds, also on a busy machine; less than what the service gives a statement whose reply never comes


@pytest.fixture(scope="module")
def shared_ledger(deployment: Deployment, keys: Iterator[str]) -> Ledger:
    """One account for all kills, whose data must survive them all."""
    deployment.start()
    return Ledger(deployment, next(keys))


@pytest.fixture
def ledger(shared_ledger: Ledger) -> Ledger:
    shared_ledger.server.start()
    return shared_ledger


def loaded(ledger: Ledger, attempt: int, kill: Callable[[], None]) -> set[int]:
    """Return the statuses of the replies up to a kill under load."""
    with ledger.load() as load:
        load.wait_for(REPLIES + 7 * attempt)
        print(f"{load.per_second:.0f} a second up to the kill")
        kill()
    slowest = max(load.exchanges, key=lambda exchange: exchange.ended - exchange.begun)
    assert slowest.ended - slowest.begun < PATIENCE, f"nobody was told for long that it failed: {slowest}"
    return set(statuses(load.replies))


@pytest.mark.parametrize("attempt", range(SERVER_KILLS))
def test_answered_checks_are_stored_exactly_once_when_the_server_is_killed(ledger: Ledger, attempt: int) -> None:
    assert loaded(ledger, attempt, ledger.server.kill) <= {0, 200}
    ledger.server.start()

    assert ledger.discrepancies() == []


if ON_POSTGRESQL:

    @pytest.mark.parametrize("attempt", range(DATABASE_KILLS))
    def test_answered_checks_are_stored_exactly_once_when_postgresql_is_killed(ledger: Ledger, attempt: int) -> None:
        assert loaded(ledger, attempt, lambda: crash(ledger.server)) <= {200, 503}

        assert ledger.discrepancies() == []

    def test_these_tests_find_out_a_database_that_confirms_before_it_writes(server: Deployment, key: str) -> None:
        assert server.postgres
        ledger = Ledger(server, key)
        with configured(server.postgres, synchronous_commit="off", wal_writer_delay="10s"):
            loaded(ledger, 0, lambda: crash(server))

            assert any(line.startswith("lost: ") for line in ledger.discrepancies())

    def crash(server: Deployment) -> None:
        assert server.postgres
        server.postgres.kill()
        server.postgres.start()

    @contextmanager
    def configured(database: Postgres, **settings: str) -> Iterator[None]:
        def run(*statements: str) -> None:
            with psycopg.connect(database.url, autocommit=True) as connection:
                for statement in (*statements, "SELECT pg_reload_conf()"):
                    connection.execute(statement)

        run(*(f"ALTER SYSTEM SET {name} = '{value}'" for name, value in settings.items()))
        yield
        run("ALTER SYSTEM RESET ALL")

else:

    def test_these_tests_find_out_a_recorder_that_answers_before_it_commits(server: Deployment, key: str) -> None:
        ledger = Ledger(server, key)
        found = ""
        for attempt in range(3):  # whether an answer is stale depends on how changes and checks meet
            server.kill()
            server.start(["-m", "tests.faults.altered_server", "careless"])
            loaded(ledger, attempt, server.kill)
            server.start()
            found += "\n".join(["", *ledger.discrepancies()])
            if "\nlost: " in found and "\nstale: " in found:
                return
        raise AssertionError(f"The tests do not notice lost and stale decisions:{found}")
