"""What lies on the disk is for the service's own account: its database holds what its callers pay for.

The modes are set here rather than left to a umask, which whoever starts the service may have opened.
"""

import os
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE

OTHERS = 0o077  # the group's bits and everybody's
OF_SQLITE = ("-wal", "-shm", "-journal")


def is_open_to_others(path: Path) -> bool:
    return path.exists() and bool(path.stat().st_mode & OTHERS)


def close_to_others(path: Path) -> None:
    """Takes the rights of the group and of everybody else away, where there is such a file."""
    if is_open_to_others(path):
        # A file of another account is that account's to close; the check accounts.W004 tells of it.
        with suppress(PermissionError):
            path.chmod(S_IMODE(path.stat().st_mode) & ~OTHERS)


def private_directory(path: Path) -> None:
    """Makes the directory unless it is there; one that somebody else made keeps the rights that they gave it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def private_database(path: Path) -> None:
    """Makes an SQLite file before SQLite would, which gives the files beside it the rights that this one has.

    To be called before anything in this process has opened it. An existing one is closed to others.
    """
    # Where no file can be made, SQLite says so when it is asked to open it.
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    for file in files_of_database(path):
        close_to_others(file)


def files_of_database(path: Path) -> list[Path]:
    return [path, *(path.with_name(path.name + suffix) for suffix in OF_SQLITE)]


def lock_of(path: Path) -> Path:
    """A database beside this one, for long work that must be alone: who can open it could keep that from beginning."""
    return path.with_name(f"{path.name}.lock")
