"""Whether a port can be bound. Uses the standard library alone, because run.py asks before anything is installed."""

import errno
import socket


def why_unusable(host: str, port: int) -> str | None:
    """Return why the port cannot be bound, and what to do about it; None if it can."""
    try:
        kind, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(kind, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            mend = f"Set HOST to an address of this machine, such as 127.0.0.1, not {host!r}."
        else:
            mend = "Set PORT to another."
        return f"Port {port} of {host} cannot be used: {error.strerror}. {mend}"
    return None
