import gzip
import io
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from accounts.models import Account
from licensing.content.models import Content
from tests import factories
from tests.client import ApiClient
from tests.commands.importing import Import, items, lines


def test_columns_are_mapped_to_fields(load: Import, account: Account) -> None:
    row = {"acno": "A1", "name": "Dunes", "by": "K. Maas", "url": "https://example.com/a", "subjects": ["sea", "sand"]}
    maps = ["title=name", "externalId=acno", "source=url", "metadata.author=by", "metadata.medium=by", "tags=subjects"]
    run = load("art.jsonl", lines(row), "--type", "image", *(f"--map={one}" for one in maps))
    assert run.result == {
        "object": "content_import",
        "created": 1,
        "updated": 0,
        "unchanged": 0,
        "superseded": 0,
        "failed": 0,
        "dryRun": False,
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
    assert (one["type"], one["policyId"], one["status"], one["tags"]) == (
        "report",
        policy.pk,
        "archived",
        ["red", "blue"],
    )
    assert one["metadata"] == {"author": "Ann", "wordCount": 120, "publishedAt": "2026-01-31"}
    assert (two["type"], two["policyId"], two["status"], two["tags"]) == ("article", None, "active", ["a;b"])


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
    call_command("import_content", "-", "--format", "jsonl", "--account", account.pk, stdout=io.StringIO())
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
    out = io.StringIO()
    call_command("import_content", str(tmp_path / "a.csv"), "--account", account.pk, stdout=out)
    expected = "2 rows: 1 created, 0 updated, 0 unchanged, 0 bad, 1 superseded by later ones with the same externalId."
    assert out.getvalue() == f"{expected}\n"


def test_the_number_of_queries_does_not_grow_with_the_rows(load: Import, django_assert_max_num_queries: Any) -> None:
    load("warm.csv", "externalId,title\nw,W\n")
    with django_assert_max_num_queries(30):
        load("a.csv", "externalId,title\n" + "".join(f"{n},Item {n}\n" for n in range(300)))
