"""PgBouncer between the service and PostgreSQL."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psycopg
import pytest

from tests.factories import ALLOW_ALL
from tests.faults.harness import SERVE, Deployment, beside
from tests.services import PGBOUNCER, pgbouncer

pytestmark = [pytest.mark.faults, pytest.mark.skipif(PGBOUNCER is None, reason="needs pgbouncer")]


def test_a_pooler_that_keeps_no_session_state_by_transaction_is_refused_at_the_start(deployment: Deployment):
    assert deployment.postgres
    with pgbouncer(deployment.postgres, "transaction") as pooler:
        done = deployment.python(*SERVE, DATABASE_URL=pooler.url)
    assert done.returncode == 1
    assert "Set DATABASE_POOLING=transaction, or pool_mode=session" in done.stderr


def test_a_pooler_that_gives_each_client_a_session_serves(deployment: Deployment, tmp_path):
    assert deployment.postgres
    [(key, _)] = deployment.accounts(1)
    with (
        pgbouncer(deployment.postgres, "session") as pooler,
        beside(deployment, tmp_path, DATABASE_URL=pooler.url) as server,
    ):
        api = server.client(key)
        item = api.item()
        assert [api.check(item).json()["allowed"] for _ in range(50)] == [True] * 50


def use_everything(server: Deployment, key: str, name: str) -> Counter[tuple[str, int]]:
    """Return statuses of all kinds of requests: checks, batches, retries, wallets, writes, lists, reports, exports."""
    seen: Counter[tuple[str, int]] = Counter()
    # The request that asks has a timeout well above PostgreSQL's, so nothing waits for ever.
    with httpx.Client(
        base_url=server.url, headers={"Authorization": f"Bearer {key}"}, trust_env=False, timeout=60
    ) as api:

        def ask(method: str, path: str, **options: Any) -> Any:
            reply = api.request(method, path, **options)
            seen[f"{method} {path.split('?', maxsplit=1)[0].split('/wal_', maxsplit=1)[0]}", reply.status_code] += 1
            return reply.json() if "json" in reply.headers.get("content-type", "") else reply.text

        policy = ask("POST", "/v1/policies", json={"name": name, "rules": [ALLOW_ALL]})["id"]
        rows = [{"title": str(number), "externalId": f"{name}-{number}", "policyId": policy} for number in range(30)]
        ask("POST", "/v1/content/bulk", json={"items": rows})
        terms = {"licenseType": "paid", "pricePerAccess": {"amount": 1, "currency": "USD"}}
        ask("POST", "/v1/licenses", json={"requesterId": f"org_{name}", **terms})
        wallet = ask("POST", "/v1/wallets", json={"requesterId": f"org_{name}", "unit": "USD"})["id"]
        ask("POST", f"/v1/wallets/{wallet}/grants", json={"amount": 5, "kind": "paid"})
        for number in range(30):
            check = {"externalId": f"{name}-{number}", "requester": f"org_{name}" if number % 3 else f"new_{number}"}
            ask("POST", "/v1/access/check", json=check)
            ask("POST", "/v1/access/check", json=check, headers={"Idempotency-Key": f"{name}-{number}"})
            checks = [{"externalId": f"{name}-{one}"} for one in range(20)]
            ask("POST", "/v1/access/check/batch", json={"requester": f"org_{name}", "checks": checks})
            ask("GET", "/v1/content?limit=5&sort=title")
            ask("GET", "/v1/access/decisions?limit=5&allowed=true")
            ask("POST", "/v1/content", json={"title": "one more"}, headers={"Idempotency-Key": f"c-{name}-{number}"})
        for path in ("analytics/usage", "analytics/revenue", "revenue", "events", "audit", "statements"):
            ask("GET", f"/v1/{path}")
        ask("GET", "/v1/access/decisions?format=csv")
        assert ask("GET", f"/v1/wallets/{wallet}")["balance"] == 0
    return seen


def test_all_of_the_service_works_behind_a_pooler_that_shares_out_sessions_by_transaction(deployment, tmp_path):
    assert deployment.postgres
    keys = [key for key, _ in deployment.accounts(4)]
    with (
        pgbouncer(deployment.postgres, "transaction", sessions=4) as pooler,  # fewer than the service opens
        beside(deployment, tmp_path, DATABASE_URL=pooler.url, DATABASE_POOLING="transaction") as server,
        ThreadPoolExecutor(4) as threads,
    ):
        seen = sum(
            threads.map(lambda pair: use_everything(server, pair[1], f"t{pair[0]}"), enumerate(keys)), Counter()
        )
        refused = {request: count for request, count in seen.items() if request[1] >= 400}
        with psycopg.connect(pooler.url, autocommit=True, prepare_threshold=None) as other:
            left = {other.execute("SHOW statement_timeout").fetchone() for _ in range(40)}
            prepared = {other.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() for _ in range(40)}
    assert refused == {}
    assert left == {("0",)}  # no other client gets the service's limits
    assert prepared == {(0,)}
