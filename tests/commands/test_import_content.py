"""manage.py import_content: files as publishers have them, and what becomes of each row."""

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Account
from licensing import importing
from licensing.models import Content
from tests import factories
from tests.client import ApiClient


class Run:
    """One run of the command: its result and what it reported."""

    def __init__(self, result: dict[str, Any], errors: str) -> None:
        self.result = result
        self.errors = errors.splitlines()

    def __getitem__(self, name: str) -> int:
        return self.result[name]


Import = Callable[..., Run]


@pytest.fixture
def load(account: Account, tmp_path: Path) -> Import:
    """Writes a file of that name and imports it."""

    def run(name: str, data: str | bytes, *options: str) -> Run:
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        out, errors = io.StringIO(), io.StringIO()
        arguments = [str(path), "--account", account.pk, "--json", *options]
        call_command("import_content", *arguments, stdout=out, stderr=errors)
        return Run(json.loads(out.getvalue().splitlines()[-1]), errors.getvalue())

    return run


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def items(account: Account) -> dict[str | None, Content]:
    return {item.external_id: item for item in Content.objects.of(account.pk)}


# --- What goes in -----------------------------------------------------------------------------------------------------


def test_columns_are_mapped_to_fields(load: Import, account: Account) -> None:
    row = {"acno": "A1", "name": "Dunes", "by": "K. Maas", "url": "https://example.com/a", "subjects": ["sea", "sand"]}
    maps = ["title=name", "externalId=acno", "source=url", "metadata.author=by", "metadata.medium=by", "tags=subjects"]
    run = load("art.jsonl", lines(row), "--type", "image", *(f"--map={one}" for one in maps))
    assert run.result == {
        "object": "content_import",
        **{"created": 1, "updated": 0, "unchanged": 0, "superseded": 0, "failed": 0},
        "dryRun": False,
    }
    item = items(account)["A1"]
    assert (item.title, item.type, item.source) == ("Dunes", "image", "https://example.com/a")
    assert (item.author, item.metadata_extra, item.tags) == ("K. Maas", {"medium": "K. Maas"}, ["sea", "sand"])


def test_an_imported_item_is_found_by_its_url(load: Import, api: ApiClient) -> None:
    load("a.csv", "externalId,title,source\n1,A,https://example.com/a\n")
    reply = api.post("/v1/access/check", {"source": "https://example.com/a", "requester": "org"})
    assert reply["reason"] == "no_policy"


def test_without_a_map_columns_are_named_as_in_the_api(load: Import, api: ApiClient, account: Account) -> None:
    policy = factories.policy(account)
    load(
        "a.csv",
        "externalId,title,type,policyId,status,tags,metadata.author,metadata.wordCount,metadata.publishedAt,colour\n"
        f'x,One,report,{policy.pk},archived,red; blue,Ann,120,2026-01-31,\ny,Two,,,,"[""a;b""]",,,,\n',
    )
    two, one = api.get("/v1/content")["data"]
    assert (one["type"], one["policyId"], one["status"], one["tags"]) == ("report", policy.pk, "archived", ["red", "blue"])
    assert one["metadata"] == {"author": "Ann", "wordCount": 120, "publishedAt": "2026-01-31"}
    assert (two["type"], two["policyId"], two["status"], two["tags"]) == ("article", None, "active", ["a;b"])


def test_json_lines_may_nest_metadata(load: Import, account: Account) -> None:
    load("a.ndjson", lines({"externalId": "1", "title": "A", "metadata": {"author": "Ann", "pages": 3}}))
    assert (items(account)["1"].author, items(account)["1"].metadata_extra) == ("Ann", {"pages": 3})


def test_columns_that_are_left_aside_are_named(load: Import) -> None:
    assert load("a.csv", "externalId,title,colour\n1,A,red\n").errors == ["Columns left aside: colour."]


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
    call_command("import_content", "-", "--format", "jsonl", "--account", account.pk, stdout=io.StringIO())
    assert list(items(account)) == ["1"]


# --- Again, and beside others ------------------------------------------------------------------------------------------


def test_importing_again_changes_nothing(load: Import, api: ApiClient) -> None:
    data = lines(
        {"externalId": "1", "title": "A", "metadata": {"author": "Ann", "size": 1.0, "pages": 10**15, "free": True}},
        {"externalId": "2", "title": "Ä", "tags": ["x"], "metadata": {"publishedAt": "2026-01-31", "tags": []}},
    )
    load("a.jsonl", data)
    before = api.get("/v1/content")["data"]
    run = load("a.jsonl", data)
    assert (run["created"], run["updated"], run["unchanged"]) == (0, 0, 2)
    assert api.get("/v1/content")["data"] == before


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


def test_true_in_place_of_1_is_a_change(load: Import, account: Account) -> None:
    load("a.jsonl", lines({"externalId": "1", "title": "A", "metadata": {"flag": 1}}))
    assert load("a.jsonl", lines({"externalId": "1", "title": "A", "metadata": {"flag": True}}))["updated"] == 1
    assert items(account)["1"].metadata_extra["flag"] is True


def test_a_json_null_clears_a_field_as_in_a_request(load: Import, account: Account) -> None:
    load("a.jsonl", lines({"externalId": "1", "title": "A", "source": "https://example.com/a"}))
    assert load("a.jsonl", lines({"externalId": "1", "title": "A", "source": None}))["updated"] == 1
    assert items(account)["1"].source is None


def test_a_known_item_needs_no_title(load: Import, account: Account) -> None:
    factories.content(account, external_id="1", title="Kept")
    run = load("a.csv", "externalId,tags\n1,new\n2,new\n")
    assert (run["updated"], run.errors) == (1, ["line 3: title: This field is required."])
    assert items(account)["1"].title == "Kept"


def test_of_rows_with_one_external_id_the_last_wins_each_time(load: Import, account: Account) -> None:
    data = "externalId,title\n1,First\n2,Other\n1,Last\n"
    assert (load("a.csv", data)["created"], items(account)["1"].title) == (2, "Last")
    run = load("a.csv", data)
    assert (run["updated"], run["unchanged"], run["superseded"]) == (0, 2, 1)


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


def test_an_item_created_meanwhile_is_updated(
    load: Import, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API creates the item after the import has looked for it."""
    look_up = importing.Import.lock_policies

    def after_another(self: importing.Import, policy_ids: set[Any]) -> set[str]:
        if not items(account):
            raced.append(factories.content(account, external_id="1", title="Theirs"))
        return look_up(self, policy_ids)

    raced: list[Content] = []
    monkeypatch.setattr(importing.Import, "lock_policies", after_another)
    # The rival's row is in the same transaction here, and goes with the first attempt.
    assert load("a.csv", "externalId,title\n1,Ours\n")["created"] == 0 or len(raced) > 1
