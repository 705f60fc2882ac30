"""File permissions: everything on disk is readable by the service's own user only.

Modes are set explicitly rather than by umask, which the operator may have relaxed.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE

GROUP_AND_OTHERS = 0o077  # permission bits of group and others
OTHERS = 0o007  # those of accounts that are neither the owner nor in the group
SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")


def is_open_to_group_or_others(path: Path) -> bool:
    return path.exists() and bool(path.stat().st_mode & GROUP_AND_OTHERS)


def remove_group_and_other_permissions(path: Path) -> None:
    """Remove the permissions of group and others from an existing file."""
    if is_open_to_group_or_others(path):
        # Only a file's owner can change its mode; the check accounts.W004 reports such files.
        with suppress(PermissionError):
            path.chmod(S_IMODE(path.stat().st_mode) & ~GROUP_AND_OTHERS)


def is_open_to_others(path: Path) -> bool:
    """Return whether every account of the machine has permissions. Those of a group were given on purpose."""
    return path.exists() and bool(path.stat().st_mode & OTHERS)


def remove_other_permissions(path: Path) -> None:
    """Remove the permissions of accounts that are neither the owner nor in the group."""
    if is_open_to_others(path):
        with suppress(PermissionError):  # only a file's owner can change its mode
            path.chmod(S_IMODE(path.stat().st_mode) & ~OTHERS)


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
        remove_group_and_other_permissions(file)


def files_of_database(path: Path) -> list[Path]:
    return [path, *(path.with_name(path.name + suffix) for suffix in SQLITE_SUFFIXES)]
