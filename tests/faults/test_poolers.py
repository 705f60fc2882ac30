"""PgBouncer between the service and PostgreSQL."""

import subprocess
import sys

import httpx
import pytest

from run import ROOT
from tests.factories import ALLOW_ALL
from tests.faults.harness import Deployment
from tests.services import PGBOUNCER, pgbouncer

pytestmark = [pytest.mark.faults, pytest.mark.skipif(PGBOUNCER is None, reason="needs pgbouncer")]
SERVE = [sys.executable, "manage.py", "serve"]


def test_a_pooler_that_shares_sessions_out_by_transaction_is_refused_at_the_start(deployment: Deployment):
    assert deployment.postgres
    with pgbouncer(deployment.postgres, "transaction") as pooler:
        environment = {**deployment.environment, "DATABASE_URL": pooler.url}
        done = subprocess.run(
            SERVE, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 1
    assert "set pool_mode=session for this database, or connect to PostgreSQL directly" in done.stderr


def test_a_pooler_that_gives_each_client_a_session_serves(deployment: Deployment, tmp_path):
    assert deployment.postgres
    [(key, _)] = deployment.accounts(1)
    with pgbouncer(deployment.postgres, "session") as pooler:
        behind = Deployment(tmp_path, postgres=deployment.postgres)
        behind.environment |= {
            "DATABASE_URL": pooler.url,
            "SECRET_KEY": deployment.environment.get("SECRET_KEY", ""),
            "DATA_DIR": str(deployment.directory),  # which has the secret key
        }
        try:
            behind.start()
            api = httpx.Client(base_url=behind.url, headers={"Authorization": f"Bearer {key}"}, trust_env=False)
            policy = api.post("/v1/policies", json={"name": "Open", "rules": [ALLOW_ALL]}).json()["id"]
            api.post("/v1/content", json={"title": "A", "externalId": "a", "policyId": policy})
            body = {"externalId": "a", "requester": "org_acme"}
            assert [api.post("/v1/access/check", json=body).json()["allowed"] for _ in range(50)] == [True] * 50
        finally:
            behind.close()
