"""The machine's clock is set back an hour under load (docs/explanation/guarantees.md)."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.factories import ALLOW_ALL
from tests.faults.harness import Deployment, separate
from tests.faults.ledger import Ledger
from tests.faults.shared_limits import LIMIT, how_many_pass
from tests.faults.traffic import in_groups, request, statuses
from tests.services.server import directory
from tests.world.clock import LIBRARY, WorldClock

pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(not LIBRARY.exists(), reason="needs libfaketime (apt install faketime)"),
]
HOUR = timedelta(hours=1)
NOON = datetime.now(UTC).replace(hour=12, minute=0, second=5)  # an hour before it, it is the same day


@pytest.fixture(scope="module")
def clock() -> Iterator[WorldClock]:
    with directory() as path:
        yield WorldClock(path, NOON)


@pytest.fixture(scope="module")
def server(clock: WorldClock, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with separate(tmp_path_factory.mktemp("clock"), variables=clock.environment) as server:
        yield server


@pytest.fixture
def key(server: Deployment, clock: WorldClock) -> str:
    """A key of a new account, five seconds after noon."""
    clock.set(NOON)
    return server.accounts(1, plan="starter")[0][0]


def test_no_decision_is_lost_or_charged_twice(server: Deployment, clock: WorldClock) -> None:
    [(key, _)] = server.accounts(1)
    ledger = Ledger(server, key)
    ledger.compared_at = clock.now() - 2 * HOUR
    with ledger.load() as load:
        load.wait_for(300)
        clock.set(clock.now() - HOUR)
        load.wait_for(300)

    assert statuses(load.replies).keys() == {200}
    assert ledger.discrepancies() == []


def test_a_limit_of_the_plan_begins_again(server: Deployment, clock: WorldClock, key: str) -> None:
    listing = [request("GET", "/v1/content", key)] * 80
    assert how_many_pass(in_groups(server, listing, 4)) == LIMIT
    clock.set(clock.now() - HOUR)
    assert how_many_pass(in_groups(server, listing, 4)) == LIMIT


def test_a_rule_s_limit_stays_used_up(server: Deployment, clock: WorldClock, key: str) -> None:
    with server.client(key) as client:
        rule = {**ALLOW_ALL, "rateLimit": {"requests": 3, "period": "hour"}}
        item = client.item(rule)

        def allowed() -> list[bool]:
            return [client.check(item).json()["allowed"] for _ in range(4)]

        assert allowed() == [True, True, True, False]
        clock.set(clock.now() - HOUR)
        assert allowed() == [False] * 4
        clock.set(clock.now() + 2 * HOUR)
        assert allowed() == [True, True, True, False]
