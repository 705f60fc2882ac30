import gzip
import io
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any

import pytest
from django.core.management import CommandError

from accounts.models import Account
from licensing.content.bulk import ContentBulk
from licensing.content.models import Content
from licensing.imports import importer
from licensing.sites.services import update_site
from tests import auditlog, factories
from tests.client import ApiClient
from tests.commands.calling import printed
from tests.commands.importing import Import, Run, items, lines
from tests.lock_waits import at_once

HOSTS = ("pub.example", "www.pub.example", "other.example")


def test_columns_are_mapped_to_fields(load: Import, account: Account) -> None:
    row = {"acno": "A1", "name": "Dunes", "by": "K. Maas", "url": "https://example.com/a", "subjects": ["sea", "sand"]}
    maps = ["title=name", "externalId=acno", "source=url", "metadata.author=by", "metadata.medium=by", "tags=subjects"]
    run = load("art.jsonl", lines(row), "--type", "image", *(f"--map={one}" for one in maps))
    counts = dict.fromkeys(("updated", "unchanged", "superseded", "failed"), 0)
    understood = {"understoodPercent": 100.0}
    assert run.result == {
        "object": "content_import",
        **understood,
        "created": 1,
        **counts,
        "dryRun": False,
        "notes": [],
    }
    item = items(account)["A1"]
    assert (item.title, item.type, item.source) == ("Dunes", "image", "https://example.com/a")
    assert (item.author, item.metadata_extra, item.tags) == ("K. Maas", {"medium": "K. Maas"}, ["sea", "sand"])


def test_without_a_map_columns_are_named_as_in_the_api(load: Import, api: ApiClient, account: Account) -> None:
    policy = factories.policy(account)
    load(
        "a.csv",
        "externalId,title,type,policyId,status,tags,metadata.author,metadata.wordCount,metadata.publishedAt,colour\n"
        f'x,One,report,{policy.pk},archived,red; blue,Ann,120,2026-01-31,\ny,Two,,,,"[""a;b""]",,,,\n',
    )
    two, one = api.get("/v1/content")["data"]
    assert (one["type"], one["policyId"], one["status"]) == ("report", policy.pk, "archived")
    assert one["tags"] == ["red", "blue"]
    assert one["metadata"] == {"author": "Ann", "wordCount": 120, "publishedAt": "2026-01-31"}
    assert (two["type"], two["policyId"], two["status"], two["tags"]) == ("article", None, "active", ["a;b"])


def test_items_that_close_pages_of_an_enforcing_site_are_counted(load: Import, account: Account) -> None:
    policy = factories.policy(account)
    site = factories.site(account, {"/*": policy}, host="pub.example", mode="observe", aliases=["www.pub.example"])
    rows = [{"externalId": host, "title": host, "source": f"https://{host}/a"} for host in HOSTS]
    priced = [{**row, "policyId": policy.pk} for row in rows]
    assert load("items.jsonl", lines(*rows), "--dry-run")["notes"] == []
    update_site(site, {"mode": "enforce"})
    for options in (["--dry-run"], []):
        [note] = load("items.jsonl", lines(*rows), *options)["notes"]
        assert note.startswith("2 items, such as https://pub.example/a, without a policy at sites that enforce:")
    assert load("items.jsonl", lines(*priced))["notes"] == []


def test_json_lines_may_nest_metadata(load: Import, account: Account) -> None:
    load("a.ndjson", lines({"externalId": "1", "title": "A", "metadata": {"author": "Ann", "pages": 3}}))
    assert (items(account)["1"].author, items(account)["1"].metadata_extra) == ("Ann", {"pages": 3})


def test_columns_that_are_left_aside_are_named(load: Import, api: ApiClient) -> None:
    assert load("a.csv", "externalId,title,colour\n1,A,red\n").errors == ["Columns left aside: colour."]
    load("a.csv", "externalId,title,source\n1,A,https://example.com/a\n")
    reply = api.post("/v1/access/check", {"source": "https://example.com/a", "requester": "org"})
    assert reply["reason"] == "no_policy"


@pytest.mark.parametrize("name", ["a.csv.gz", "a.CSV"])
def test_gzipped_files_and_names_in_capitals_are_read(load: Import, name: str) -> None:
    text = b"externalId,title\n1,A\n"
    assert load(name, gzip.compress(text) if name.endswith("gz") else text)["created"] == 1


def test_byte_order_mark_crlf_and_quoted_newlines_are_read(load: Import, account: Account) -> None:
    load("a.csv", b'\xef\xbb\xbfexternalId,title\r\n1,"A ""large""\r\nfigure, seated"\r\n\r\n,\r\n')
    assert [(one.external_id, one.title) for one in items(account).values()] == [("1", 'A "large"\r\nfigure, seated')]


@pytest.mark.parametrize("zipped", [False, True])
def test_a_pipe_can_be_read(account: Account, monkeypatch: pytest.MonkeyPatch, zipped: bool) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    data = lines({"externalId": "1", "title": "A"}).encode()
    pipe = Pipe(gzip.compress(data) if zipped else data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(pipe))
    printed("import_content", "-", "--format", "jsonl", "--account", account.pk)
    assert list(items(account)) == ["1"]


def test_a_dry_run_counts_and_reports_and_writes_nothing(load: Import, account: Account) -> None:
    factories.content(account, external_id="1", title="Old")
    run = load("a.csv", "externalId,title,type\n1,New,\n2,B,\n3,C,book\n", "--dry-run")
    assert (run["created"], run["updated"], run["failed"], run.result["dryRun"]) == (1, 1, 1, True)
    assert [item.title for item in items(account).values()] == ["Old"]


def test_a_default_stands_where_the_row_gives_nothing(load: Import, account: Account) -> None:
    policy = factories.policy(account)
    rows = {"externalId": "1", "title": "A", "type": None}, {"externalId": "2", "title": "B", "type": "video"}
    defaults = [f"--default=policyId={policy.pk}", "--default=tags=a;b", "--default=metadata.category=Art"]
    load("a.jsonl", lines(*rows), "--type=image", *defaults)
    one, two = items(account)["1"], items(account)["2"]
    assert (one.type, two.type) == ("image", "video")
    assert (one.policy_id, one.tags, one.category) == (policy.pk, ["a", "b"], "Art")


def test_without_external_ids_rows_go_in_only_if_duplicates_are_allowed(load: Import, account: Account) -> None:
    for _ in range(2):
        assert load("a.csv", "title\nA\n", "--allow-duplicates")["created"] == 1
    assert Content.objects.of(account.pk).count() == 2


def test_people_get_a_sentence(account: Account, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("externalId,title\n1,A\n1,B\n")
    expected = "2 rows: 1 created, 0 updated, 0 unchanged, 0 bad, 1 superseded by later ones with the same externalId."
    assert printed("import_content", tmp_path / "a.csv", "--account", account.pk) == f"{expected}\n"


def test_the_number_of_queries_does_not_grow_with_the_rows(load: Import, django_assert_max_num_queries: Any) -> None:
    load("warm.csv", "externalId,title\nw,W\n")
    with django_assert_max_num_queries(30):
        load("a.csv", "externalId,title\n" + "".join(f"{n},Item {n}\n" for n in range(300)))


def test_importing_again_changes_nothing_and_the_last_of_rows_with_one_external_id_wins(load, api, account):
    data = lines(
        {"externalId": "1", "title": "A", "metadata": {"author": "Ann", "size": 1.0, "pages": 10**15, "free": True}},
        {"externalId": "2", "title": "Ä", "tags": ["x"], "metadata": {"publishedAt": "2026-01-31", "tags": []}},
    )
    load("a.jsonl", data)
    before = api.get("/v1/content")["data"]
    run = load("a.jsonl", data)
    assert (run["created"], run["updated"], run["unchanged"]) == (0, 0, 2)
    assert api.get("/v1/content")["data"] == before
    data = "externalId,title\n3,First\n4,Other\n3,Last\n"
    assert (load("a.csv", data)["created"], items(account)["3"].title) == (2, "Last")
    run = load("a.csv", data)
    assert (run["updated"], run["unchanged"], run["superseded"]) == (0, 2, 1)


def test_a_changed_row_updates_its_item_and_leaves_what_it_does_not_give(load: Import, api: ApiClient) -> None:
    load("a.csv", "externalId,title,tags,metadata.author\n1,A,x,Ann\n2,B,y,Ben\n")
    before = {item["externalId"]: item for item in api.get("/v1/content")["data"]}
    run = load("b.csv", "externalId,title,tags,metadata.category\n1,A2,,News\n2,B,,\n")
    assert (run["updated"], run["unchanged"]) == (1, 1)
    after = {item["externalId"]: item for item in api.get("/v1/content")["data"]}
    assert after["2"] == before["2"]
    assert (after["1"]["id"], after["1"]["created"]) == (before["1"]["id"], before["1"]["created"])
    assert (after["1"]["title"], after["1"]["tags"]) == ("A2", ["x"])
    assert after["1"]["metadata"] == {"author": "Ann", "category": "News"}
    assert after["1"]["updated"] > before["1"]["updated"]


def test_nulls_and_other_types_are_changes(load, account):
    load("a.jsonl", lines({"externalId": "1", "title": "A", "metadata": {"flag": 1}}))
    assert load("a.jsonl", lines({"externalId": "1", "title": "A", "metadata": {"flag": True}}))["updated"] == 1
    assert items(account)["1"].metadata_extra["flag"] is True
    load("a.jsonl", lines({"externalId": "1", "title": "A", "source": "https://example.com/a"}))
    assert load("a.jsonl", lines({"externalId": "1", "title": "A", "source": None}))["updated"] == 1
    assert items(account)["1"].source is None


def test_rows_change_known_items_of_their_account(load: Import, account: Account) -> None:
    factories.content(account, external_id="1", title="Kept")
    run = load("a.csv", "externalId,tags\n1,new\n2,new\n")
    assert (run["updated"], run.errors) == (1, ["line 3: title: This field is required."])
    assert items(account)["1"].title == "Kept"


def test_a_deleted_item_is_made_anew(load: Import, account: Account, api: ApiClient) -> None:
    old = factories.content(account, external_id="1")
    api.delete(f"/v1/content/{old.pk}")
    assert load("a.csv", "externalId,title\n1,A\n")["created"] == 1
    assert items(account)["1"].pk != old.pk


def test_nothing_crosses_accounts(load: Import, other_account: Account) -> None:
    theirs = factories.content(other_account, external_id="1", title="Theirs")
    policy = factories.policy(other_account)
    run = load("a.csv", f"externalId,title,policyId\n1,Ours,\n2,Ours,{policy.pk}\n")
    assert run["created"] == 1
    assert run.errors == [f"line 3: policyId: There is no policy '{policy.pk}'."]
    theirs.refresh_from_db()
    assert theirs.title == "Theirs"


@pytest.mark.django_db(transaction=True)
def test_two_imports_of_a_file_at_once_make_each_item_once(load, account, monkeypatch):
    both_have_looked = Barrier(2)
    look_up = ContentBulk.outcomes

    def together(batch: ContentBulk) -> Any:
        with suppress(BrokenBarrierError):  # on SQLite the second reads only after the first has written
            both_have_looked.wait(0.3)
        return look_up(batch)

    def run(number: int) -> Run:
        return load(f"{number}.csv", "externalId,title\n" + "".join(f"{n},Item {n}\n" for n in range(50)))

    monkeypatch.setattr(ContentBulk, "outcomes", together)
    runs = at_once(partial(run, 0), partial(run, 1))
    assert sorted((one["created"], one["unchanged"]) for one in runs) == [(0, 50), (50, 0)]
    assert len(items(account)) == 50


def test_of_an_interrupted_run_whole_batches_stay(load, account, monkeypatch):
    data = "externalId,title\n" + "".join(f"{n},Item {n}\n" for n in range(5))
    monkeypatch.setattr(importer, "BATCH_ROWS", 2)
    validated = importer.Import.validated

    def interrupted(self: importer.Import, body: dict[str, Any]) -> dict[str, Any]:
        if body.get("externalId") == "3":
            raise KeyboardInterrupt
        return validated(self, body)

    with monkeypatch.context() as patch:
        patch.setattr(importer.Import, "validated", interrupted)
        with pytest.raises(CommandError, match="2 of 5 rows are done"):
            load("a.csv", data)
    assert sorted(items(account)) == ["0", "1"]
    assert (again := load("a.csv", data))["created"] == 3
    assert again["unchanged"] == 2


FIRST = {"externalId": "a", "title": "Alpha", "metadata": {"edition": 1}}
SECOND = {"externalId": "b", "title": "Beta"}


@pytest.fixture
def new(account):
    """Return a function that returns the entries since its last call."""
    known = set()

    def entries():
        made = [entry for entry in auditlog.entries(account=account) if entry.pk not in known]
        known.update(entry.pk for entry in made)
        return made

    entries()
    return entries


def test_items_that_are_created_or_changed_are_in_the_log_by_the_command_and_no_others(load, new, account):
    load("items.jsonl", lines(FIRST, SECOND), "--dry-run")
    assert new() == []
    load("items.jsonl", lines(FIRST, SECOND))
    made = {entry.resource_id: entry for entry in new()}
    assert set(made) == {item.pk for item in items(account).values()}
    for entry in made.values():
        assert (entry.action, entry.actor_type, entry.actor_id) == ("content.created", "command", "import_content")
    assert made[items(account)["a"].pk].changes["metadata.edition"] == [None, 1]
    load("items.jsonl", lines({**FIRST, "metadata": {"edition": True}}, SECOND, {"externalId": "c", "title": ""}))
    [entry] = new()
    assert (entry.action, entry.changes) == ("content.updated", {"metadata.edition": [1, True]})
