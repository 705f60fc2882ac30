import io
import socket
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

import run
from accounts.models import Account
from config.management.commands import serve, start
from config.management.commands.serve import Command, check_free
from tests.services import free_port


@pytest.fixture
def started(monkeypatch, settings):
    """Return a function that starts, without serving, and returns the output."""
    settings.PORT = free_port()
    served = []
    monkeypatch.setattr(serve.Command, "handle", lambda *_, **__: served.append(True))

    def begin(*arguments: str) -> str:
        out = io.StringIO()
        call_command("start", *arguments, stdout=out, stderr=out)
        assert served.pop()
        return out.getvalue()

    return begin


@pytest.mark.slow
@pytest.mark.django_db
def test_the_first_start_makes_a_demo_account_and_an_operator_and_the_second_nothing(started):
    first = started()
    assert Account.objects.get().is_demo
    assert User.objects.get().is_superuser
    for shown in ("svc_sk_", "svc_pk_", "Sign in at ", "curl -s http://127.0.0.1:"):
        assert first.count(shown) >= 1
    second = started()
    assert "svc_sk_" not in second
    assert "password" not in second
    assert Account.objects.count() == 1


@pytest.mark.django_db
def test_an_empty_start_makes_an_operator_once_and_no_account(started):
    first = started("--empty")
    assert "Sign in at " in first
    assert first.index("manage.py create_account NAME") < first.index("manage.py create_api_key --account ID")
    assert "another key" not in first
    assert "Sign in at " not in started("--empty")
    assert not Account.objects.exists()
    call_command("create_account", "Pub", verbosity=0)
    assert "To make another key: " in started("--empty")


@pytest.mark.django_db
def test_missing_tables_are_made_and_counted(started, monkeypatch):
    migrated = []
    monkeypatch.setattr(start, "pending_migrations", lambda: ["licensing.0001_initial", "licensing.0002_more"])
    monkeypatch.setattr("config.management.commands.migrate.Command.handle", lambda *_, **__: migrated.append(True))
    assert "Changing tables: 2 migrations" in started("--empty")
    assert migrated == [True]


@pytest.fixture
def taken() -> Iterator[int]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def test_an_occupied_port_is_reported_before_anything_is_served_and_one_given_back_is_free(
    taken, settings, monkeypatch
):
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

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    check_free("127.0.0.1", port)


def test_a_host_that_is_not_this_machine_is_named(monkeypatch):
    for host in ("192.0.2.1", "nowhere.invalid"):
        with pytest.raises(CommandError, match=f"Set HOST to an address of this machine, .*, not '{host}'"):
            check_free(host, 8000)
        monkeypatch.setenv("HOST", host)
        with pytest.raises(run.RunError, match="Set HOST to an address of this machine"):
            run.check_port()
