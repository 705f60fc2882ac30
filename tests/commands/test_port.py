import io
import socket
from collections.abc import Iterator

import pytest
from django.core.management import CommandError

import run
from config.management.commands.serve import Command, check_free


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def test_an_occupied_port_is_reported_before_anything_is_served(taken, settings, monkeypatch):
    with pytest.raises(CommandError, match=f"Port {taken} of 127.0.0.1 cannot be used: Address already in use"):
        check_free("127.0.0.1", taken)
    settings.HOST, settings.PORT = "127.0.0.1", taken
    out = io.StringIO()
    with pytest.raises(CommandError):
        Command(stdout=out).serve(0)
    assert out.getvalue() == ""

    monkeypatch.setenv("HOST", "127.0.0.1")
    monkeypatch.setenv("PORT", str(taken))
    with pytest.raises(run.RunError, match=f"Port {taken} of 127.0.0.1 cannot be used"):
        run.serve()


def test_a_port_that_is_given_back_is_free():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    check_free("127.0.0.1", port)


@pytest.mark.parametrize("host", ["192.0.2.1", "nowhere.invalid"])  # an address of others, a name of nobody
def test_a_host_that_is_not_this_machine_is_named(host, monkeypatch):
    with pytest.raises(CommandError, match=f"Set HOST to an address of this machine, .*, not '{host}'"):
        check_free(host, 8000)
    monkeypatch.setenv("HOST", host)
    with pytest.raises(run.RunError, match="Set HOST to an address of this machine"):
        run.check_port()
