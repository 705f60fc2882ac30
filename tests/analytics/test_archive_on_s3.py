import json
import logging

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from analytics.archive import store
from analytics.archive.copying import update_archive
from analytics.archive.dropping import drop_archived
from analytics.archive.models import ArchivedMonth, ArchiveHorizon
from analytics.archive.table import ArchiveError, DecisionTable
from analytics.models import AccessEvent
from kit.telemetry.logs import redact_secrets
from tests.analytics.archive_reading import HORIZON, LIST, _at_once, events, move_to_archive, pages
from tests.archived import BUCKET, NOW, archived, folder, months, on_disk, prefix, recorded, s3_server, use
from tests.documentation.blocks import block
from tests.services import free_port

pytestmark = pytest.mark.slow
__all__ = ["_at_once", "events", "folder", "prefix", "s3_server"]  # fixtures
CHECK = {"requester": "org_acme"}


@pytest.fixture
def place(prefix):
    return prefix


@pytest.fixture(autouse=True)
def table(place, db, settings, s3_server, monkeypatch):
    """The archive of this test, which may change credentials: pyarrow reads them when it makes a client."""
    store.s3.cache_clear()
    with DecisionTable() as table:
        yield table
        use(place, settings, monkeypatch)
        store.s3.cache_clear()
        table.discard()


@pytest.fixture
def unreachable(settings):
    """Return a function after which nothing listens at the endpoint."""

    def take_away():
        settings.ARCHIVE_ENDPOINT = f"http://127.0.0.1:{free_port()}"

    return take_away


def policy_of_the_guide(place):
    text = block("docs/guides/archive.md", "{")
    policy = json.loads(text.replace("pub-decisions/archive", place.path).replace("pub-decisions", BUCKET))
    listing, _ = policy["Statement"]
    listing["Action"] = [listing["Action"], "s3:HeadBucket"]  # the server's own name for a part of it
    return policy


def nothing_has_happened(there):
    assert (AccessEvent.objects.count(), ArchiveHorizon.objects.count()) == (there, 0)
    assert not ArchivedMonth.objects.filter(rows__isnull=False).exists()


def test_the_policy_of_the_guide_is_enough_and_opens_no_other_prefix(
    api, events, table, place, s3_server, monkeypatch, settings
):
    before = pages(api, "sort=created", 100)
    for name, value in s3_server.create_user(f"of {place.path}", policy_of_the_guide(place)).items():
        monkeypatch.setenv(name, value)
    store.s3.cache_clear()
    move_to_archive()
    assert pages(api, "sort=created", 100) == before
    assert api.delete(f"/v1/requesters/{events.last().requester.requester_id}").status in (200, 204)
    call_command("archive_events")  # deletes files
    place.copy_to(place.beside())
    settings.ARCHIVE_DIR = place.beside().setting
    with pytest.raises(ArchiveError, match="ACCESS_DENIED"):
        update_archive(NOW, discard_copies=True)


def test_a_user_who_may_only_read_is_enough_for_the_service(api, events, table, place, s3_server, monkeypatch):
    before = pages(api, "sort=created", 100)
    move_to_archive()
    policy = policy_of_the_guide(place)
    policy["Statement"][1]["Action"] = "s3:GetObject"
    for name, value in s3_server.create_user(f"reader of {place.path}", policy).items():
        monkeypatch.setenv(name, value)
    store.s3.cache_clear()
    assert pages(api, "sort=created", 100) == before


@pytest.mark.parametrize("options", [[], ["--drop"], ["--anew", "--drop"]])
def test_wrong_keys_archive_and_remove_nothing_and_are_shown_nowhere(events, monkeypatch, options, caplog):
    there, secret = AccessEvent.objects.count(), "not-the-secret-of-this-user"
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    with pytest.raises(
        CommandError, match=r"The archive in s3://.* cannot be read or written: .*ACCESS_DENIED"
    ) as said:
        call_command("archive_events", *options)
    nothing_has_happened(there)
    assert secret not in f"{said.value} {caplog.text}"


def test_no_secret_is_in_the_files_or_the_catalogue(events, table, place, s3_server):
    update_archive(NOW)
    secret = s3_server.owner["AWS_SECRET_ACCESS_KEY"]
    with table.catalogue.engine.connect() as catalogue:
        kept = [
            str(catalogue.exec_driver_sql(f"SELECT * FROM {name}").all())  # noqa: S608
            for name in ("iceberg_tables", "iceberg_namespace_properties")
        ]
    assert BUCKET in str(kept)
    for text in (place.texts(), *kept, repr(table.catalogue), repr(vars(table)), repr(store.file_system())):
        assert secret not in text


def test_a_secret_is_taken_out_of_logs(settings, s3_server):
    from kit.telemetry.logs import own_secrets

    settings.ARCHIVE_SECRETS = list(s3_server.owner.values())
    own_secrets.cache_clear()
    try:
        assert s3_server.owner["AWS_SECRET_ACCESS_KEY"] not in redact_secrets(f"failed with {s3_server.owner}")
    finally:
        own_secrets.cache_clear()


def test_a_missing_bucket_and_an_unreachable_server_are_named(events, settings, unreachable):
    there, former = AccessEvent.objects.count(), settings.ARCHIVE_DIR
    settings.ARCHIVE_DIR = "s3://no-such-bucket/archive"
    with pytest.raises(ArchiveError, match="The bucket no-such-bucket of ARCHIVE_DIR does not exist"):
        update_archive(NOW)
    settings.ARCHIVE_DIR = former
    unreachable()
    with pytest.raises(ArchiveError, match="NETWORK_CONNECTION"):
        update_archive(NOW)
    nothing_has_happened(there)


@pytest.mark.parametrize("step", ["write", "replace", "prune"])
def test_s3_that_is_lost_between_two_steps_leaves_what_the_next_run_completes(
    events, table, place, monkeypatch, unreachable, settings, s3_server, step
):
    done = getattr(DecisionTable, step)

    def lose(self, *arguments, **options):
        result = done(self, *arguments, **options)
        unreachable()
        self.catalogue.properties["s3.endpoint"] = settings.ARCHIVE_ENDPOINT
        self.__dict__.pop("table", None)
        return result

    with monkeypatch.context() as patched:
        patched.setattr(DecisionTable, step, lose)
        if step == "prune":
            update_archive(NOW)
        else:
            with pytest.raises(ArchiveError, match="NETWORK_CONNECTION"):
                update_archive(NOW)
        with pytest.raises(ArchiveError, match="NETWORK_CONNECTION"):
            drop_archived(NOW, NOW)
    assert AccessEvent.objects.filter(created__lt=HORIZON).exists()
    use(place, settings, monkeypatch)
    with DecisionTable() as anew:
        update_archive(NOW)
        assert archived(anew).keys() == recorded().keys()
    assert len(place.files(".parquet")) == months()


def test_lists_of_the_database_go_on_without_s3_and_others_say_why_they_fail(api, events, unreachable, caplog):
    old = events[0].pk
    move_to_archive()
    unreachable()
    store.s3.cache_clear()
    live = f"{LIST}?limit=5"
    assert api.get(live).status == 200
    assert api.get(f"{live}&identifiedBy=address&count=none&created[gte]=2026-02-01").status == 200
    assert api.post("/v1/access/check", CHECK | {"contentId": events[0].content_id}).status == 200
    caplog.clear()
    for path in (f"{LIST}?sort=created", f"{LIST}/{old}", f"{LIST}?format=jsonl"):
        reply = api.get(path)
        assert (reply.status, reply.error["message"]) == (503, "The service cannot read its archive of old decisions.")
    causes = [
        one for one in caplog.records if one.levelno >= logging.ERROR and "archive cannot be read" in one.message
    ]
    assert len(causes) == 3
    assert all("NETWORK_CONNECTION" in str(one.exc_info and one.exc_info[1]) for one in causes)


def test_s3_that_does_not_answer_holds_no_request_for_longer_than_its_own_bounds(
    api, events, table, s3_server, monkeypatch
):
    move_to_archive()
    connect, used = store.s3, []
    with monkeypatch.context() as patched:
        patched.setattr(store, "s3", lambda *options: used.append(options[2]) or connect(*options))
        before = pages(api, "sort=created", 100)
        s3_server.pause()
        try:
            assert api.get(LIST, sort="created", limit=3).status == 503
            assert api.get(LIST, limit=5).status == 200
        finally:
            s3_server.resume()
    assert set(used) == {store.PATIENCE_OF_REQUESTS}
    assert pages(api, "sort=created", 100) == before


def test_an_archive_moves_from_the_disk_to_s3_with_the_only_copies(
    api, events, place, tmp_path, settings, monkeypatch, s3_server
):
    before = pages(api, "sort=created", 100)
    disk = on_disk(tmp_path / "former")
    with monkeypatch.context() as patched:
        use(disk, settings, patched)
        move_to_archive()
        assert pages(api, "sort=created", 100) == before
    disk.copy_to(place)
    use(place, settings, monkeypatch)
    disk.delete("")
    assert pages(api, "sort=created", 100) == before  # the service is started with the new setting first
    if connection.vendor == "postgresql":
        with pytest.raises(ArchiveError, match=r"Run `manage\.py archive_events --anew`"):
            update_archive(NOW)
    update_archive(NOW, discard_copies=True)
    assert pages(api, "sort=created", 100) == before
    with DecisionTable() as moved:
        assert len(archived(moved)) > 200
