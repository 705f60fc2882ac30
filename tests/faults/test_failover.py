"""A standby of PostgreSQL is promoted under load (docs/guides/deployment.md, A standby)."""

import time

import httpx
import psycopg
import pytest

from tests.faults.harness import deployed, eventually
from tests.faults.ledger import Ledger
from tests.faults.traffic import statuses
from tests.services import postgres, synchronous_standby, valkey

pytestmark = pytest.mark.faults
MOST_SECONDS = 30  # until requests succeed after a promotion; 1 to 3 on an idle machine, 5 are promised


def test_promoting_a_synchronous_standby_under_load_loses_no_answered_decision(tmp_path):
    with postgres(fsync=False) as primary, synchronous_standby(primary) as standby, valkey() as redis:
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        url = f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write"
        with deployed(tmp_path, workers=2, postgres=primary, valkey=redis, DATABASE_URL=url) as server:
            [(key, _)] = server.accounts(1)
            ledger = Ledger(server, key)
            with ledger.load() as load:
                load.wait_for(300)
                primary.kill()
                time.sleep(1)
                before = httpx.get(f"{server.url}/readyz", timeout=30)
                with psycopg.connect(standby.url, autocommit=True) as connection:
                    connection.execute("SELECT pg_promote()")
                promoted = time.monotonic()
                assert load.eventually_succeeds(len(load.exchanges))
                took = time.monotonic() - promoted
            print(f"served {took:.1f} s after the promotion")  # pytest shows it with -rP

            assert before.status_code == 503
            assert took < MOST_SECONDS
            assert set(statuses(load.replies)) <= {200, 503}
            assert load.refused == 0
            assert ledger.discrepancies() == []
            assert eventually(server.is_ready)
