"""The passwords of PostgreSQL and Valkey change under load (docs/guides/deployment.md, Changing secrets)."""

import psycopg
import pytest

from tests.faults.harness import deployed
from tests.faults.ledger import Ledger
from tests.faults.traffic import statuses
from tests.services import postgres, valkey

pytestmark = pytest.mark.faults
OLD, NEW = "former", "changed"


def test_nothing_is_lost_and_the_service_needs_the_new_ones_from_its_restart(tmp_path):
    with postgres(fsync=False) as database, valkey() as redis, redis.client() as client:

        def urls(password: str) -> dict[str, str]:
            return {
                "DATABASE_URL": database.url.replace("postgres@", f"licensing:{password}@"),
                "REDIS_URL": redis.url.replace("//", f"//:{password}@"),
            }

        hba = database.directory / "data" / "pg_hba.conf"
        hba.write_text("host all licensing 127.0.0.1/32 scram-sha-256\n" + hba.read_text())
        with psycopg.connect(database.url, autocommit=True) as administrator:
            administrator.execute(f"CREATE ROLE licensing LOGIN SUPERUSER PASSWORD '{OLD}'")
            administrator.execute("SELECT pg_reload_conf()")
            client.config_set("requirepass", OLD)
            with deployed(tmp_path, workers=2, postgres=database, **urls(OLD)) as server:
                [(key, _)] = server.accounts(1)
                ledger = Ledger(server, key)
                with ledger.load() as load:
                    load.wait_for(200)
                    administrator.execute(f"ALTER ROLE licensing PASSWORD '{NEW}'")
                    client.config_set("requirepass", NEW)
                    load.wait_for(200)
                    assert set(statuses(load.replies)) <= {200, 503}  # 503 where a new connection was needed

                    server.environment |= urls(NEW)
                    server.restart()
                    load.wait_for(200)
                    load.wait_for_success()
                    with server.client_of_each_worker(key) as workers:
                        ready = [worker.get("/readyz").json()["checks"] for worker in workers]

                assert ready == [{"database": "ok", "limits": "redis"}] * 2
                assert ledger.discrepancies() == []
