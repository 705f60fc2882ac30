"""A deployment for the tests of this folder, with a database and server of its own that may be killed.

On PostgreSQL it has WORKERS worker processes and a Valkey, on SQLite one process. It never touches the databases that
the rest of the suite uses.
"""

import os
import random
from collections.abc import Iterator

import pytest
from django.conf import settings

from tests.examples import ALL
from tests.faults.harness import Deployment, separate

WORKERS = 3 if ALL else 2  # a start takes a second of CPU time for each
ON_POSTGRESQL = settings.DATABASES["default"]["ENGINE"].endswith("postgresql")


def kills(usual: int) -> int:
    """Return how often a test kills its process; FAULT_KILLS overrides it."""
    return int(os.environ.get("FAULT_KILLS") or usual)


@pytest.fixture(autouse=True)
def _choices_at_random_can_be_repeated() -> None:
    """Seed what a test chooses at random, such as when it kills a server. FAULT_SEED repeats a failed test."""
    seed = os.environ.get("FAULT_SEED") or str(random.SystemRandom().getrandbits(32))
    print(f"FAULT_SEED={seed}")  # pytest shows it if the test fails
    random.seed(seed)


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with separate(tmp_path_factory.mktemp("deployment"), workers=WORKERS, PAGES_PER_MINUTE="1000000") as deployment:
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
