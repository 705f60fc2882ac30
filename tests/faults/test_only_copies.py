"""manage.py archive_events deletes no file, and no decision, that nothing else has (docs/guides/archive.md)."""

import logging
import os
import shutil
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from accounts.auditing import audit
from analytics.archive import dropping
from analytics.archive.copying import update_archive
from analytics.archive.dropping import drop_archived
from analytics.archive.horizon import horizon_cache
from analytics.archive.models import ArchivedMonth, ArchiveHorizon
from analytics.archive.store import ArchiveError
from analytics.archive.table import DecisionTable
from analytics.models import AccessEvent
from licensing.account_deletion import delete_account
from tests.analytics.recording import record_all, some_events
from tests.archived import BEGIN, NOW, archived, events, folder, newest_table, recorded

pytestmark = pytest.mark.slow
__all__ = ["events", "folder"]  # fixtures


@pytest.fixture(autouse=True)
def table(folder, db, monkeypatch):
    monkeypatch.setattr(dropping, "GRACE_SECONDS", 0)
    horizon_cache.clear()
    with DecisionTable() as table:
        yield table
        table.discard()
    horizon_cache.clear()


@pytest.fixture
def only_archived(events, table):
    """Months that only the archive has. Returns their decisions."""
    update_archive(NOW)
    drop_archived(NOW, NOW)
    assert recorded() == {}
    return archived(table)


def decisions_of(folder):
    """Return the ids in the newest version of the table, as any reader of its files finds it."""
    return set(newest_table(folder).scan(selected_fields=("id",)).to_arrow()["id"].to_pylist())


def test_files_one_folder_too_deep_are_found_and_not_deleted(only_archived, table, folder):
    decisions = Path(folder.path, "licensing/decisions")
    shutil.move(decisions, decisions.with_name("restored"))
    shutil.move(decisions.with_name("restored"), decisions / "decisions")
    misplaced = folder.files(".parquet")
    assert len(misplaced) >= 3
    for option in ([], ["--anew"], ["--anew", "--drop"]):
        with pytest.raises(CommandError) as raised:
            call_command("archive_events", *option)
        said = str(raised.value)
        number = len(misplaced)
        assert f"nothing else has these decisions. So are {number - 1} more of {number} such files. Nothing" in said
        assert f"{number} of them are in another folder: file://{misplaced[0]} belongs at file://" in said
        assert "--anew" not in said
        assert folder.files(".parquet") == misplaced
        assert ArchivedMonth.objects.count() == number
    for path in (decisions / "decisions").iterdir():
        shutil.move(path, decisions)
    update_archive(NOW, discard_copies=True)
    assert decisions_of(folder) == set(only_archived)


def test_an_archive_that_is_not_mounted_says_what_to_restore(only_archived, folder):
    away = Path(folder.path).rename(folder.path + "-away")
    for option in ([], ["--anew"]):
        with pytest.raises(CommandError) as raised:
            call_command("archive_events", *option)
        assert "Nothing was deleted. Restore the files of file://" in str(raised.value)
        assert "--anew" not in str(raised.value)
    shutil.rmtree(folder.path)
    away.rename(folder.path)


@pytest.mark.parametrize("content", [b"", b"PAR1 and then the disk was full"])
def test_a_damaged_only_copy_stops_the_run_before_anything_is_deleted(only_archived, folder, content):
    files = folder.files()
    Path(folder.files(".parquet")[1]).write_bytes(content)
    with pytest.raises(ArchiveError, match=r"has no readable decisions of .*Restore the file from a backup"):
        update_archive(NOW, discard_copies=True)
    assert folder.files() == files


def test_lost_metadata_of_only_copies_is_restored_and_not_copied_again(only_archived, folder):
    folder.delete(".json")
    with pytest.raises(
        CommandError, match=r"A file of the archive is missing: .*Restore it from a backup of ARCHIVE_D"
    ):
        call_command("archive_events")


def test_a_database_restored_from_an_older_backup_costs_no_file(only_archived, table, folder):
    """It does not know what was removed from it after the backup."""
    files = folder.files(".parquet")
    ArchiveHorizon.objects.all().delete()
    ArchivedMonth.objects.all().delete()
    table.catalogue.drop_table("licensing.decisions")
    for options in ({}, {"discard_copies": True}):
        with pytest.raises(ArchiveError, match=r"has decisions that the database lacks\. Nothing was deleted"):
            update_archive(NOW, **options)
    assert folder.files(".parquet") == files


def test_a_month_with_fewer_decisions_does_not_replace_its_copy(events, account, table):
    update_archive(NOW)
    before = archived(table)
    some = AccessEvent.objects.order_by("created").values_list("pk", flat=True)[:5]
    AccessEvent.objects.filter(pk__in=list(some)).delete()
    ArchivedMonth.objects.all().delete()
    with pytest.raises(ArchiveError, match=r"The archive has \d+ decisions of acc_.* restored from an older backup"):
        update_archive(NOW)
    assert archived(table) == before


@pytest.mark.parametrize("anew", [False, True])
def test_the_files_of_deleted_accounts_are_deleted(events, other_account, folder, anew):
    record_all(some_events(other_account, 30, BEGIN, 30, seed=3))
    update_archive(NOW)
    before, name = decisions_of(folder), other_account.pk
    delete_account(other_account)
    update_archive(NOW, discard_copies=anew)
    assert decisions_of(folder) < before
    assert name not in str(folder.files())


def test_the_files_of_accounts_that_a_restored_database_lacks_are_kept(
    events, other_account, folder, monkeypatch, caplog
):
    record_all(some_events(other_account, 30, BEGIN, 30, seed=3))
    update_archive(NOW)
    before = decisions_of(folder)
    monkeypatch.setattr(audit, "record", lambda *_: None)
    delete_account(other_account)
    with caplog.at_level(logging.WARNING):
        update_archive(NOW)
    assert decisions_of(folder) == before
    assert f"The archive keeps the decisions of {other_account.pk}" in caplog.text
    with pytest.raises(ArchiveError, match="has decisions that the database lacks"):
        update_archive(NOW, discard_copies=True)
    assert decisions_of(folder) == before


def test_files_of_others_in_the_folder_are_left_alone(events, folder):
    update_archive(NOW)
    foreign = Path(folder.path, "licensing/decisions/notes.parquet")
    foreign.write_bytes(b"mine")
    update_archive(NOW, discard_copies=True)
    update_archive(NOW)
    assert foreign.read_bytes() == b"mine"


def test_decisions_recorded_into_an_archived_month_afterwards_are_not_removed(events, account, table, caplog):
    update_archive(NOW)
    drop_archived(NOW, NOW)
    late = some_events(account, 7, BEGIN, 30, seed=99)
    record_all(late)
    with caplog.at_level(logging.WARNING):
        update_archive(NOW)
        drop_archived(NOW, NOW)
    assert len(recorded()) == 7
    assert "7 decisions were recorded into months that had been archived" in caplog.text


def test_files_are_private_whatever_the_umask_and_a_group_keeps_what_it_was_given(events, folder):
    former = os.umask(0)
    try:
        update_archive(NOW)
    finally:
        os.umask(former)
    below = [path for path in Path(folder.path).rglob("*") if "licensing" in path.parts]
    assert {oct(path.stat().st_mode & 0o777) for path in below if path.is_file()} == {"0o600"}
    assert {oct(path.stat().st_mode & 0o777) for path in below if path.is_dir()} == {"0o700"}
    [older, of_group, *_] = (Path(path) for path in folder.files(".parquet"))
    older.chmod(0o644)
    of_group.chmod(0o640)
    update_archive(NOW)
    assert (older.stat().st_mode & 0o777, of_group.stat().st_mode & 0o777) == (0o640, 0o640)
