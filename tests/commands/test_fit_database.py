from hashlib import sha256
from unittest.mock import Mock

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client, override_settings

from accounts.limits.redis_servers import RedisAddress, find_fault_in
from accounts.models import PepperFingerprint
from config import copying
from config.management.commands.serve import check_database, check_redis, fault_of_database
from config.migrating.pending import required_migrations
from kit.storage import outage_causes
from kit.telemetry.logs import passwords_in
from tests import factories
from tests.commands.calling import printed

pytestmark = pytest.mark.django_db
OTHER = sha256(b"another pepper").digest()


def test_a_database_must_be_migrated_and_whole():
    assert fault_of_database() is None
    last = max(name for app, name in required_migrations() if app == "accounts")
    MigrationRecorder(connection).record_unapplied("accounts", last)
    expected = f"The database lacks the migration accounts.{last}. Run `manage.py migrate` first."
    assert fault_of_database() == expected
    MigrationRecorder(connection).record_applied("accounts", last)
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {copying.PROGRESS} (name text PRIMARY KEY, copied bigint NOT NULL)")
    assert "Run `manage.py copy_to` again" in str(fault_of_database())


def test_a_process_is_ready_with_its_migrations_and_a_writable_database(client: Client):
    MigrationRecorder(connection).record_applied("accounts", "9999_of_the_next_version")
    assert fault_of_database() is None
    assert client.get("/readyz").status_code == 200
    MigrationRecorder(connection).record_unapplied("accounts", "0001_initial")
    reply = client.get("/readyz")
    assert (reply.status_code, reply.json()["checks"]["database"]) == (503, "migrations_pending")


def test_any_pepper_fits_a_database_without_keys_and_is_stored_as_a_fingerprint(settings):
    assert fault_of_database() is None
    stored = PepperFingerprint.objects.get().fingerprint
    assert settings.API_KEY_PEPPER.hex() not in stored
    assert len(stored) == 64
    settings.API_KEY_PEPPER = OTHER
    assert fault_of_database() is None
    assert PepperFingerprint.objects.count() == 1


def test_another_pepper_is_refused_once_there_are_keys_unless_it_was_changed_on_purpose(account, settings):
    assert fault_of_database() is None
    factories.api_key(account)
    settings.API_KEY_PEPPER = OTHER
    assert "API_KEY_PEPPER" in (fault_of_database() or "")
    assert "accept_pepper" in (fault_of_database() or "")
    assert printed("accept_pepper").startswith("The service starts with this API_KEY_PEPPER.")
    assert fault_of_database() is None


def test_a_read_only_database_is_not_ready(client: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("config.monitoring.probes.is_read_only", lambda: True)
    reply = client.get("/readyz")
    assert (reply.status_code, reply.json()["checks"]["database"]) == (503, "read_only")


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no sessions that refuse writes")
def test_a_session_that_refuses_writes_is_read_only():
    assert not outage_causes.is_read_only()
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION READ ONLY")
    assert outage_causes.is_read_only()


def test_serve_ends_with_the_fault(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("config.management.commands.serve.connections.close_all", lambda: None)
    MigrationRecorder(connection).record_unapplied("accounts", "0001_initial")
    with pytest.raises(CommandError, match=r"accounts.0001_initial. Run `manage.py migrate` first"):
        check_database()


def test_a_command_whose_database_is_away_says_so_in_a_line(monkeypatch: pytest.MonkeyPatch):
    away = Mock(side_effect=OperationalError("connection refused"))
    monkeypatch.setattr("accounts.management.commands.list_accounts.Command.perform", away)
    with pytest.raises(CommandError, match=r"^The database did not answer \(unreachable\): connection refused$"):
        call_command("list_accounts")


@pytest.mark.parametrize(
    "url",
    ["redis://127.0.0.1:9/0", "redis+sentinel://127.0.0.1:9,127.0.0.1:10/mymaster", "redis+cluster://127.0.0.1:9"],
    ids=["server", "sentinel", "cluster"],
)
def test_a_redis_that_does_not_answer_prevents_no_start(url: str):
    with override_settings(REDIS_URL=url):
        check_redis()


@pytest.mark.parametrize(
    ("info", "code"),
    [
        ({"redis_version": "6.0.16", "role": "master"}, "too_old"),
        ({"redis_version": "7.2.4", "redis_mode": "cluster"}, "cluster_node"),
        ({"redis_version": "6.2.0", "maxmemory": 0, "maxmemory_policy": "allkeys-lru"}, None),
        ({"redis_version": "10.0.1", "maxmemory": 1, "maxmemory_policy": "noeviction"}, None),
        ({}, None),
    ],
)
def test_info_is_judged(info: dict[str, object], code: str | None):
    fault = find_fault_in(info)
    assert (fault and fault.code) == code


def test_malformed_urls_keep_the_service_from_starting():
    url = "redis://:p,w@127.0.0.1:9,127.0.0.1:10/0"
    with (
        override_settings(REDIS_URL=url),
        pytest.raises(SystemCheckError, match=r"redis\+sentinel://.* or redis\+cluster://") as refusal,
    ):
        call_command("check")
    assert "p,w" not in str(refusal.value)
    for url in (
        "redis+sentinel://host:26379", "redis+sentinel:///mymaster", "redis+sentinel://:pa/ss@host/mymaster",
        "redis://:pa/ss@host:6379/0", "redis+sentinel://host:port/mymaster", "redis+cluster://host:6379/1",
    ):  # fmt: skip
        with override_settings(REDIS_URL=url), pytest.raises(SystemCheckError, match="E005") as refusal:
            call_command("check")
        assert "pa/" not in str(refusal.value)


def test_a_url_names_sentinels_their_primary_and_passwords_of_both():
    url = "rediss+sentinel://user:p%40ss@one,[::1]:5000/mymaster/3?sentinel_password=other-secret&ssl_cert_reqs=none"
    address = RedisAddress(url)

    assert address.hosts == [("one", 26_379), ("::1", 5000)]
    assert (address.primary, address.options["db"], address.options["password"]) == ("mymaster", 3, "p@ss")
    assert address.sentinel_options["password"] == "other-secret"
    assert "username" not in address.sentinel_options
    assert address.options["ssl"] is address.sentinel_options["ssl"] is True
    assert passwords_in(url) == ["p%40ss", "other-secret"]
