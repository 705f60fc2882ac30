import json
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from threading import Event, Thread

import pytest
from django.core.management import CommandError, call_command
from django.db import close_old_connections, connection, transaction
from django.utils import timezone
from pyarrow import parquet
from pyiceberg.table import StaticTable

from analytics.archive import changes, copying
from analytics.archive.copying import update_archive
from analytics.archive.models import ArchivedMonth
from analytics.archive.table import ArchiveError, DecisionTable
from analytics.events.partitions import month_start
from analytics.events.retention import purge_events
from analytics.models import AccessEvent
from licensing.account_deletion import delete_account
from licensing.requesters.models import Requester
from tests import factories
from tests.analytics.recording import record_all, requester, some_events
from tests.archived import (
    BEGIN,
    NOW,
    archived,
    events,
    folder,
    months,
    newest_table,
    place,
    prefix,
    recorded,
    s3_server,
    table,
)
from tests.commands.access_logs import combined, publisher, written
from tests.commands.access_logs import run as import_log

pytestmark = pytest.mark.slow
__all__ = ["events", "folder", "place", "prefix", "s3_server", "table"]  # fixtures


def test_the_closed_months_of_all_accounts_are_archived_as_they_were_recorded(events, other_account, table):
    record_all(some_events(other_account, 100, BEGIN, 76, seed=8))
    assert update_archive(NOW) == (months(), 0)
    assert archived(table) == recorded()
    assert len(archived(table)) > 300


def test_a_month_is_split_into_chunks_without_losing_decisions_of_the_same_moment(events, table, monkeypatch):
    monkeypatch.setattr(copying, "GROUP_ROWS", 7)
    AccessEvent.objects.filter(created__lt=datetime(2026, 1, 1, tzinfo=UTC)).update(created=BEGIN)
    update_archive(NOW)
    assert archived(table) == recorded()


def test_long_facts_make_smaller_groups_of_rows(events, table, folder, monkeypatch):
    """Reading a group, which the service does for lists, takes as much memory as it has."""
    monkeypatch.setattr(copying, "READ_ROWS", 3)
    monkeypatch.setattr(copying, "GROUP_BYTES", 10_000)
    AccessEvent.objects.update(facts={"attributes": {"team": "x" * 900}})
    update_archive(NOW)
    assert archived(table) == recorded()
    for path in folder.files(".parquet"):
        footer = parquet.read_metadata(path)
        sizes = [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]
        assert max(sizes) <= 13
        assert sum(sizes) < 13 or min(sizes[:-1]) >= 10


def test_running_again_copies_nothing_and_a_new_month_only_itself(events, table):
    update_archive(NOW)
    assert update_archive(NOW) == (0, 0)
    assert update_archive(NOW + timedelta(days=31)) == (1, 0)
    assert archived(table) == recorded(NOW + timedelta(days=31))


def test_the_first_hour_of_a_month_leaves_the_last_one_open(events, table):
    begin = datetime(2026, 2, 1, tzinfo=UTC)
    assert update_archive(begin + timedelta(minutes=59)) == (months() - 1, 0)
    assert update_archive(begin + timedelta(minutes=60)) == (1, 0)


def test_a_log_imported_into_an_archived_month_is_archived_too(account, other_account, table, tmp_path, settings):
    settings.CRAWLER_DNS = False
    record_all(some_events(other_account, 50, BEGIN, 40, seed=1))
    publisher(account)
    now = timezone.now()
    past = month_start(month_start(now) - timedelta(days=1)) - timedelta(days=3)  # not last month: it may be open yet
    lines = [combined(past + timedelta(minutes=n), "/premium/1", "GPTBot/1.0") for n in range(20)]
    import_log(written(tmp_path / "one.log", lines[:10]))
    update_archive(now)
    import_log(written(tmp_path / "two.log", lines))
    assert update_archive(now) == (1, 0)
    assert archived(table) == recorded(now)
    assert update_archive(now) == (0, 0)


def test_an_erasure_reaches_every_file_of_the_archive(api, account, table, place):
    person = requester(account, "ada@engine.example")
    events = some_events(account, 30, BEGIN, 30, seed=2)
    record_all([event if n % 3 else event.__class__(event.created, event.content, person, event.reason)
                for n, event in enumerate(events)])  # fmt: skip
    AccessEvent.objects.filter(requester=person).update(facts={"ip": "203.0.113.77"})
    update_archive(NOW)
    assert all(trace in place.texts() for trace in ("ada@engine", "203.0.113.77"))
    api.delete("/v1/requesters/ada@engine.example")
    update_archive(NOW)
    assert not any(trace in place.texts() for trace in ("ada@engine", "203.0.113.77"))
    assert archived(table) == recorded()


def test_purged_months_and_deleted_accounts_leave_no_file(events, other_account, table, place):
    record_all(some_events(other_account, 30, BEGIN, 30, seed=3))
    update_archive(NOW)
    AccessEvent.objects.filter(created__lt=datetime(2025, 12, 1, tzinfo=UTC)).delete()
    purge_events(datetime(2025, 12, 1, tzinfo=UTC))
    delete_account(other_account)
    files = months()
    copied, removed = update_archive(NOW)
    assert (copied, removed > 1) == (0, True)
    assert archived(table) == recorded()
    assert len(place.files(".parquet")) == files
    assert other_account.pk not in str(place.files(".parquet"))


def test_decisions_that_change_while_they_are_copied_are_copied_again(events, table, account, monkeypatch, place):
    write, changing = DecisionTable.write, [1, 1]

    def change_too(self, path, chunks):
        done = write(self, path, chunks)
        if changing:
            changing.pop()
            AccessEvent.objects.update(facts={"changed": len(changing)})
            changes.note_change(account.pk, (event.created.date() for event in events))
        return done

    monkeypatch.setattr(DecisionTable, "write", change_too)
    update_archive(NOW)
    assert archived(table) == recorded()
    assert len(place.files(".parquet")) == months()


def test_an_account_that_is_deleted_while_it_is_copied_stops_no_other(
    events, account, other_account, table, monkeypatch
):
    record_all(some_events(other_account, 30, BEGIN, 30, seed=3))
    accounts, write = [account, other_account], DecisionTable.write

    def delete_meanwhile(self, path, chunks):
        done = write(self, path, chunks)
        if len(accounts) == 2:
            delete_account(accounts.pop(0 if account.pk in path else 1))
        return done

    monkeypatch.setattr(DecisionTable, "write", delete_meanwhile)
    update_archive(NOW)
    assert len(accounts) == 1
    assert archived(table) == recorded()
    assert {row["account"] for row in archived(table).values()} == {accounts[0].pk}


def test_a_file_that_differs_from_the_decisions_is_refused(events, table, monkeypatch):
    monkeypatch.setattr(DecisionTable, "read", lambda self, path: iter([[]]))
    with pytest.raises(CommandError, match=r"differs from what was written to it\. Nothing was archived"):
        call_command("archive_events")
    assert archived(table) == {}


def test_an_archive_in_another_folder_is_refused_until_it_is_made_anew(events, settings, table, place):
    update_archive(NOW)
    settings.ARCHIVE_DIR = place.beside().setting
    if connection.vendor == "postgresql":
        with pytest.raises(ArchiveError, match="not in ARCHIVE_DIR"):
            update_archive(NOW)
    assert update_archive(NOW, discard_copies=True) == (months(), 0)
    with DecisionTable() as moved:
        assert archived(moved) == recorded()
        assert len(place.beside().files(".parquet")) == months()
        moved.discard()


def test_an_archive_whose_files_are_lost_says_what_to_do(events, table, place):
    update_archive(NOW)
    place.delete(".json")
    with pytest.raises(CommandError, match=r"A file of the archive is missing: .*archive_events --anew"):
        call_command("archive_events")
    out = StringIO()
    call_command("archive_events", "--anew", "--json", stdout=out)
    assert json.loads(out.getvalue())["archived"] >= 3


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer")
@pytest.mark.django_db(transaction=True)
def test_a_copy_begins_after_the_changes_that_are_under_way(table):
    account = factories.account()
    record_all(some_events(account, 20, BEGIN, 5, seed=4))
    changed, commit = Event(), Event()

    def change():
        with transaction.atomic():
            changes.note_change(account.pk, [BEGIN.date()])
            AccessEvent.objects.update(facts={"changed": True})
            changed.set()
            assert commit.wait(20)
        close_old_connections()
        connection.close()

    def release():
        commit.set()

    changing = Thread(target=change)
    changing.start()
    assert changed.wait(20)
    copying_month = Thread(target=lambda: (update_archive(NOW), connection.close()))
    copying_month.start()
    copying_month.join(0.5)
    assert copying_month.is_alive()  # it waits
    release()
    changing.join(20)
    copying_month.join(20)
    assert archived(table) == recorded()
    assert {row["facts"] for row in archived(table).values()} == {'{"changed":true}'}
    assert ArchivedMonth.objects.get().is_current
    Requester.objects.all().delete()


def test_readers_that_know_only_the_folder_open_the_newest_version(events, table, place):
    update_archive(NOW)
    update_archive(NOW + timedelta(days=31))
    properties = newest_table(place).io.properties
    by_folder = StaticTable.from_metadata(f"{place.uri}/licensing/decisions", properties)
    assert by_folder.scan().count() == len(recorded(NOW + timedelta(days=31)))
    assert len(place.files("version-hint.text")) == 1
    assert len(place.files(".metadata.json")) == 2


GUIDE = Path("docs/guides/archive.md").read_text()
on_disk = pytest.mark.parametrize("place", ["folder"], indirect=True, ids=["disk"])
IN_GUIDE = "/srv/archive/licensing/decisions"


def guide_command(engine):
    """Return the command of the guide's row about an engine."""
    [row] = [line for line in GUIDE.splitlines() if line.startswith(f"| {engine}")]
    return row.split("`")[-2]


@on_disk
def test_the_guides_command_for_pyiceberg_opens_the_folder(events, table, place):
    update_archive(NOW)
    command = guide_command("PyIceberg").replace(IN_GUIDE, f"{place.uri}/licensing/decisions")
    assert eval(command, {"StaticTable": StaticTable}) == len(recorded())  # noqa: S307 - the guide's own words


@on_disk
def test_the_guides_command_for_duckdb_opens_the_folder(events, table, place):
    duckdb = pytest.importorskip("duckdb", reason="it needs DuckDB, see requirements-edge.txt")
    duckdb_ext = pytest.importorskip("duckdb_ext", reason="it needs DuckDB's extensions, see requirements-edge.txt")
    update_archive(NOW)
    extensions = Path(next(iter(duckdb_ext.__path__)), "extensions")
    command = guide_command("DuckDB").replace(IN_GUIDE, f"{place.uri}/licensing/decisions")
    with duckdb.connect(config={"extension_directory": str(extensions)}) as engine:
        engine.execute("LOAD avro; LOAD iceberg")
        [(count,)] = engine.execute(command).fetchall()
    assert count == len(recorded())
