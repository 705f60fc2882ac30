"""A deployment for the tests of this folder, with a database and server of its own that may be killed.

On PostgreSQL it has three worker processes and a Valkey, on SQLite one process. It never touches the databases that
the rest of the suite uses.
"""

import os
from collections.abc import Iterator

import pytest
from django.conf import settings

from tests.faults.harness import Deployment, deployed
from tests.services import postgres, valkey

ON_POSTGRESQL = settings.DATABASES["default"]["ENGINE"].endswith("postgresql")

# Tests of several processes, Valkey or PostgreSQL run only on that leg, tests of HTTP or files only on the other, so
# that nothing runs twice.
ON_ONE_LEG = {
    False: [
        *("test_http.py", "test_hostile_clients.py", "test_trailers.py", "test_bodies.py"),
        *("test_licence_sdk.py", "test_header_limits.py"),
    ],
    True: [
        *("test_poolers.py", "test_failover.py", "test_replica.py", "test_processes.py", "test_outages.py"),
        *(
            "test_restore.py",
            "test_changed_passwords.py",
            "test_high_availability.py",
            "test_metrics.py",
            "test_moving_accounts.py",
            "test_unfit_redis.py",
            "test_valkey_sentinel.py",
            "test_valkey_cluster.py",
            "test_workers.py",
        ),
    ],
}
collect_ignore = ON_ONE_LEG[not ON_POSTGRESQL]


def kills(usual: int) -> int:
    """Return how often a test kills its process; FAULT_KILLS overrides it."""
    return int(os.environ.get("FAULT_KILLS") or usual)


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    directory = tmp_path_factory.mktemp("deployment")
    if ON_POSTGRESQL:
        with (
            # kill -9 is no power cut, so no fsync. Small log files, so that they fit where table files no longer do.
            postgres(fsync=False, wal_segment_megabytes=1) as database,
            valkey() as redis,
            deployed(directory, workers=3, postgres=database, valkey=redis) as deployment,
        ):
            yield deployment
    else:
        with deployed(directory) as deployment:
            yield deployment


@pytest.fixture
def server(deployment: Deployment) -> Deployment:
    """The deployment with everything running, whatever the previous test did."""
    deployment.start()
    return deployment


@pytest.fixture(scope="session")
def keys(deployment: Deployment) -> Iterator[str]:
    """Yield keys of accounts without tight limits, created in batches of 20."""

    def stock() -> Iterator[str]:
        while True:
            yield from (key for key, _ in deployment.accounts(20))

    return stock()


@pytest.fixture
def key(keys: Iterator[str]) -> str:
    """A key with all permissions, of a new account."""
    return next(keys)
