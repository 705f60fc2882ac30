"""The first worker to need it runs the month; the others read its result.

WORLD_SIZE multiplies the traffic, WORLD=whole rehearses every day. WORLD_RECORD names a file that stores the month: an
existing one is read instead of running the month, which helps when writing new comparisons.
"""

import fcntl
import os
import pickle
from pathlib import Path

import pytest

from tests.world.machines import missing_tools
from tests.world.model.expected import Expected
from tests.world.month import keep_record


@pytest.fixture(scope="session")
def month(tmp_path_factory: pytest.TempPathFactory) -> Expected:
    """The month as the model expects it, and as the service reports it."""
    if missing := missing_tools():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"The world needs {' and '.join(missing)} from Debian.")
    record = record_file(tmp_path_factory.getbasetemp())
    with record.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not record.exists():
            keep_record(record, tmp_path_factory.mktemp("world"))
    return Expected(*pickle.loads(record.read_bytes()))  # noqa: S301 - written above


def record_file(own: Path) -> Path:
    """Return the record's path in the folder shared by all workers; `own` is this worker's folder."""
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    return Path(os.environ.get("WORLD_RECORD") or shared / "month.pickle")
