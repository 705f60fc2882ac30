"""The shared directory of several workers' metrics, so that any of them can add up those of all."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from kit.private_files import private_directory

PREFIX = "metrics-"


@contextmanager
def shared_metrics(data_directory: Path) -> Iterator[Path]:
    """A directory of this run in PROMETHEUS_MULTIPROC_DIR, for processes started within the block.

    It goes with the run. What a killed run has left goes when the next one starts: whoever lives holds a lock on its
    own, so services that share a data directory keep theirs.
    """
    private_directory(data_directory)
    for old in data_directory.glob(f"{PREFIX}*"):
        lock = take_lock(old)
        if lock is not None:
            shutil.rmtree(old, ignore_errors=True)
            lock.close()
    directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=data_directory))
    lock = take_lock(directory)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(directory)
    try:
        yield directory
    finally:
        del os.environ["PROMETHEUS_MULTIPROC_DIR"]
        shutil.rmtree(directory, ignore_errors=True)
        if lock is not None:
            lock.close()


def take_lock(directory: Path) -> IO[str] | None:
    """The lock of a run's directory, held while the file is open; None if its owner lives."""
    file = (directory / "lock").open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file
