"""The first worker to need it runs the month; the others read its result.

WORLD_SIZE multiplies the traffic, WORLD_DAYS ends the month early. WORLD_RECORD names a file that keeps the month:
where it is there already, it is read instead of lived, for those who write a further comparison.
"""

import fcntl
import os
import pickle
from pathlib import Path

import pytest
from django.conf import settings

from tests.world.machines import missing_tools
from tests.world.model.expected import Expected
from tests.world.month import keep_record

# It is about PostgreSQL, on either leg; so it runs on that one alone.
if not settings.DATABASES["default"]["ENGINE"].endswith("postgresql"):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def month(tmp_path_factory: pytest.TempPathFactory) -> Expected:
    """The month as the model has it, beside what the service says of it."""
    if missing := missing_tools():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"The world needs {' and '.join(missing)} from Debian.")
    record = record_file(tmp_path_factory.getbasetemp())
    with record.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not record.exists():
            keep_record(record, tmp_path_factory.mktemp("world"))
    return Expected(*pickle.loads(record.read_bytes()))  # noqa: S301 - written above


def record_file(own: Path) -> Path:
    """In the folder that all workers of a run share; `own` is this worker's."""
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    return Path(os.environ.get("WORLD_RECORD") or shared / "month.pickle")
