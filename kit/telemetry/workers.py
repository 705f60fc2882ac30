"""Metrics of several workers: a directory that they share, so that any of them can add up all, and their deaths."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from django.conf import settings

from kit.private_files import private_directory
from kit.telemetry.metrics import Counter

PREFIX = "metrics-"
worker_deaths = Counter(
    "licensing_worker_deaths", "Worker processes that died, or were killed because they hung, and were replaced."
)


@contextmanager
def shared_metrics(data_directory: Path) -> Iterator[Path]:
    """Create this run's directory. Within the block, PROMETHEUS_MULTIPROC_DIR names it, here and in child processes.

    The directory is removed at the end. Directories of killed runs are removed by the next one: a live run holds a
    lock on its own, so services that share a data directory keep theirs.
    """
    private_directory(data_directory)
    for old in data_directory.glob(f"{PREFIX}*"):
        lock = take_lock(old)
        if lock is not None:
            shutil.rmtree(old, ignore_errors=True)
            lock.close()
    directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=data_directory))
    lock = take_lock(directory)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = settings.PROMETHEUS_MULTIPROC_DIR = str(directory)
    try:
        yield directory
    finally:
        del os.environ["PROMETHEUS_MULTIPROC_DIR"]
        settings.PROMETHEUS_MULTIPROC_DIR = ""
        shutil.rmtree(directory, ignore_errors=True)
        if lock is not None:
            lock.close()


def take_lock(directory: Path) -> IO[str] | None:
    """Return the lock file of a run's directory, locked while open; None if its owner is alive."""
    file = (directory / "lock").open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file
