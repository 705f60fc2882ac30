"""A process's limit on open files, which also limits its connections."""

import logging
from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit, setrlimit

logger = logging.getLogger(__name__)

SPARE_FILES = 256  # descriptors for databases, files and listening sockets


def connections_at_most(wanted: int) -> int:
    """Return `wanted`, or fewer if this process may not open that many files."""
    soft, _ = getrlimit(RLIMIT_NOFILE)
    return wanted if soft == RLIM_INFINITY else max(1, min(wanted, soft - SPARE_FILES))


def allow_connections(wanted: int) -> None:
    """Raise the limit on open files of this process and its children as far as `wanted` connections need."""
    soft, hard = getrlimit(RLIMIT_NOFILE)
    files = wanted + SPARE_FILES if hard == RLIM_INFINITY else min(wanted + SPARE_FILES, hard)
    if soft != RLIM_INFINITY and soft < files:
        setrlimit(RLIMIT_NOFILE, (files, hard))
    possible = connections_at_most(wanted)
    if possible < wanted:
        logger.warning(
            "Each process takes %d connections, not %d: it may have %d files open "
            "(LimitNOFILE, docs/guides/deployment.md).",
            *(possible, wanted, possible + SPARE_FILES),
        )
