"""Files of metrics whose blocks are reserved before they are mapped.

On a full disk, a write to a mapped page without a block would kill the process with SIGBUS. If blocks cannot be
reserved, the numbers stay in the memory of the process, and /metrics lacks them.
"""

import logging
import os
from mmap import mmap
from pathlib import Path

from prometheus_client import values
from prometheus_client.mmap_dict import MmapedDict

logger = logging.getLogger(__name__)

FIRST_SIZE = 1 << 16
ENTRY_BYTES = 32  # of a value of prometheus_client, beside its key: at most
HEAD = (8).to_bytes(8, "little")  # of prometheus_client's file without values: how much of it is used

is_reported = False


def reserve(path: Path, size: int) -> None:
    """Create the file with all its blocks, or extend it. Raises OSError if there is no room."""
    if path.exists():  # of a dead process with the same id
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, size)
        return
    draft = path.with_name(f"{path.name}.draft")  # scrapes read no file that is not complete
    try:
        with draft.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)
        draft.rename(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def report(error: OSError) -> None:
    """Log why numbers of this process will be missing in /metrics, once per process."""
    global is_reported  # noqa: PLW0603 - once per process
    if not is_reported:
        is_reported = True
        logger.error("/metrics lacks numbers of this process: its files of metrics have no room (%s).", error)


class ReservedDict(MmapedDict):
    """prometheus_client's file of values, reserved when it is created or grows."""

    def __init__(self, filename: str, read_mode: bool = False) -> None:
        try:
            if not read_mode:
                reserve(Path(filename), FIRST_SIZE)
        except OSError as error:
            report(error)
            vars(self)["_f"] = None  # the values are in memory alone
            self._fname = filename
            self._capacity = FIRST_SIZE
            self._m = mmap(-1, FIRST_SIZE)
            self._m[:8] = HEAD
            self._used = 8
            self._positions: dict[str, int] = {}
        else:
            super().__init__(filename, read_mode)

    def _init_value(self, key: str) -> None:
        while self._used + len(key.encode()) + ENTRY_BYTES > self._capacity:
            self.grow()
        super()._init_value(key)

    def grow(self) -> None:
        size = self._capacity * 2
        if self._f is not None:
            try:
                os.posix_fallocate(self._f.fileno(), 0, size)
            except OSError as error:
                report(error)
                self._f.close()
                vars(self)["_f"] = None  # the file keeps the numbers until now
        grown = mmap(-1, size) if self._f is None else mmap(self._f.fileno(), size)
        if self._f is None:
            grown[: self._capacity] = self._m[:]
        self._m = grown
        self._capacity = size


def use_reserved_files() -> None:
    """Let prometheus_client reserve its files. Call before its first metric is created."""
    vars(values)["MmapedDict"] = ReservedDict  # it has no parameter for it
