"""File permissions: everything on disk is readable by the service's own user only.

Modes are set explicitly rather than by umask, which the operator may have relaxed.
"""

import os
from contextlib import suppress
from pathlib import Path
from stat import S_IMODE

OTHERS = 0o077  # permission bits of group and others
OF_SQLITE = ("-wal", "-shm", "-journal")


def is_open_to_others(path: Path) -> bool:
    return path.exists() and bool(path.stat().st_mode & OTHERS)


def close_to_others(path: Path) -> None:
    """Remove the permissions of group and others from an existing file."""
    if is_open_to_others(path):
        # Only a file's owner can change its mode; the check accounts.W004 reports such files.
        with suppress(PermissionError):
            path.chmod(S_IMODE(path.stat().st_mode) & ~OTHERS)


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
        close_to_others(file)


def files_of_database(path: Path) -> list[Path]:
    return [path, *(path.with_name(path.name + suffix) for suffix in OF_SQLITE)]


def lock_of(path: Path) -> Path:
    """Return the lock database for long-running exclusive work.

    A separate file, so that its lock blocks no readers.
    """
    return path.with_name(f"{path.name}.lock")
