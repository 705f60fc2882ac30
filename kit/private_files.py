"""File permissions: everything on disk is readable by the service's own user only.

Modes are set explicitly rather than by umask, which the operator may have relaxed.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE

GROUP_AND_OTHERS = 0o077  # permission bits of group and others
OTHERS = 0o007  # those of accounts that are neither the owner nor in the group, which gets its own on purpose
SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")


def has_permissions(path: Path, bits: int) -> bool:
    """Return whether the file exists with any of these permissions."""
    return path.exists() and bool(path.stat().st_mode & bits)


def remove_permissions(path: Path, bits: int) -> None:
    """Remove these permissions from an existing file."""
    if has_permissions(path, bits):
        # Only a file's owner can change its mode; the checks accounts.W004 and analytics.W001 report such files.
        with suppress(PermissionError):
            path.chmod(S_IMODE(path.stat().st_mode) & ~bits)


@contextmanager
def private_umask() -> Iterator[None]:
    """Let libraries create files with mode 0600 and folders with 0700.

    It is the whole process's, so it is for commands. Default ACLs of a folder still apply.
    """
    former = os.umask(GROUP_AND_OTHERS)
    try:
        yield
    finally:
        os.umask(former)


def private_directory(path: Path) -> None:
    """Create the directory with mode 0700. An existing one keeps its mode."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def private_database(path: Path) -> None:
    """Create an SQLite file with mode 0600 before SQLite does; its companion files inherit that mode.

    Call before anything in this process opens the database. Existing files lose the permissions of group and others.
    """
    # If the file cannot be created, SQLite reports that on opening.
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    for file in files_of_database(path):
        remove_permissions(file, GROUP_AND_OTHERS)


def files_of_database(path: Path) -> list[Path]:
    return [path, *(path.with_name(path.name + suffix) for suffix in SQLITE_SUFFIXES)]
