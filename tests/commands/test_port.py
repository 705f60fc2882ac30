"""A port that is taken is told before anything is said to be served."""

import socket

import pytest
from django.core.management import CommandError

from config.management.commands.serve import check_free


def test_a_taken_port_is_told():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=f"Port {port} of 127.0.0.1 cannot be used: Address already in use"):
            check_free("127.0.0.1", port)
    check_free("127.0.0.1", port)
