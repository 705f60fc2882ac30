"""The limit on open files of a process, which bounds its connections."""

import logging
from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit, setrlimit

logger = logging.getLogger(__name__)

SPARE_FILES = 256  # descriptors that are no clients' connections: databases, files, sockets that listen


def connections_at_most(wanted: int) -> int:
    """As many connections as wanted, or as this process may have open files for."""
    soft, _ = getrlimit(RLIMIT_NOFILE)
    return wanted if soft == RLIM_INFINITY else max(1, min(wanted, soft - SPARE_FILES))


def allow_connections(wanted: int) -> None:
    """Raises the limit of this process, and of those that it starts, as far as that many connections need it."""
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
