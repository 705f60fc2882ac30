import gzip
import json
import re
from datetime import date
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Account
from kit.values.numbers import share_without
from tests.client import ApiClient
from tests.commands.importing import Import, items, lines


def test_bad_rows_are_reported_with_their_lines_and_the_good_ones_go_in(load: Import, account: Account) -> None:
    run = load(
        "a.csv",
        "externalId,title,source,type,metadata.wordCount,metadata.publishedAt\n"
        '1,"Two\nlines",,,,\n'
        ",No id,,,,\n"
        "3,,,,,\n"
        "4,D,ftp://example.com,,,\n"
        "5,E,,book,,\n"
        "6,F,,,many,\n"
        "7,G,,,,31.13.2026\n"
        f"8,{'x' * 501},,,,\n"
        "9,I\n"
        "10,J,,,7,\n",
    )
    assert sorted(items(account)) == ["1", "10"]
    assert (run["created"], run["failed"], run["understoodPercent"]) == (2, 8, 20.0)
    assert run.errors == [
        "line 4: externalId: Is needed, to know the item again.",
        "line 5: title: This field is required.",
        "line 6: source: Must be an http(s) URL such as https://example.com/a.",
        "line 7: type: Must be one of: article, report, image, dataset, video.",
        "line 8: metadata.wordCount: Must be an integer.",
        "line 9: metadata.publishedAt: Must be a date such as 2026-01-31, not '31.13.2026'.",
        "line 10: title: Must have at most 500 characters.",
        "line 11: Has 2 cells where the header has 6.",
    ]


def test_an_external_id_for_all_rows_is_refused(load: Import, account: Account) -> None:
    with pytest.raises(CommandError, match="externalId takes no default"):
        load("a.csv", "externalId,title\n1,A\n,B\n,C\n", "--default=externalId=2")
    assert items(account) == {}


def test_a_row_is_held_to_the_rules_of_the_api(load: Import, api: ApiClient) -> None:
    body = {"externalId": "1", "title": "A", "metadata": {"a b": 1}}
    refused = api.post("/v1/content", body).error
    run = load("a.jsonl", lines({"externalId": "0", "title": "A"}, body))
    assert run.errors == [f"line 2: {refused['param']}: {refused['message']}"]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (b'{"externalId": "2", "title": "B"', "Is not JSON: Expecting ',' delimiter (column 33)."),
        (b"[]", "Is not a JSON object."),
        (b'{"externalId": "2", "title": "\xff"}', "Is not UTF-8."),
        (b'{"externalId": "2", "title": "\\u0000"}', "title: Text must not contain the character U+0000."),
        (
            b'{"externalId": "2", "title": "\\ud800"}',
            "title: The row has half of a surrogate pair, which is no character.",
        ),
        (b'{"externalId": "2", "title": "B", "title": "C"}', "title: The row has a key twice in one object."),
        (b'{"externalId": 2.5, "title": "B"}', "externalId: Must be a string."),
        (b'{"externalId": "2", "title": "B", "tags": "a;b"}', 'tags: Must be an array such as ["a"], not "a;b".'),
        (b"[" * 100_000, "Is nested too deeply."),
        (b'"' + b"x" * 2**20 + b'"', "Is longer than 1,048,576 bytes."),
    ],
)
def test_an_invalid_line_is_reported(load: Import, row: bytes, problem: str) -> None:
    good = b'{"externalId": "%d", "title": "A"}\n'
    run = load("a.jsonl", good % 1 + b"\n" + row + b"\n" + good % 3)
    assert run["created"] == 2
    assert [error for error in run.errors if error.startswith("line")] == [f"line 3: {problem}"]


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ('{"s": NaN}', "metadata: The cell is not JSON: it has NaN."),
        ('{"s": 1e400}', "metadata: The cell has a number that is too large."),
        ('{"s": 1' + "0" * 30 + "}", "metadata: The cell has an integer that does not fit into 64 bits."),
        ('{"s": "\\ud800"}', "metadata.s: The cell has half of a surrogate pair, which is no character."),
        ('{"s": "\\u0000"}', "metadata.s: Text must not contain the character U+0000."),
        ('{"s": 1, "s": 2}', "s: The cell has a key twice in one object."),
        ('{"s": ' + "[" * 40 + "]" * 40 + "}", "metadata: The cell is nested deeper than 32 levels."),
        ('{"s": ' + "[" * 20_000, "metadata: The cell is nested deeper than 32 levels."),
        ('{"s":', "metadata: The cell is not JSON: Expecting value (line 1, column 6). It ends too early."),
        ("[1]", 'metadata: Must be an object such as {"author": "Ada Byron", "wordCount": 1200}, not an array.'),
    ],
)
def test_metadata_that_no_body_may_have_is_reported_and_the_others_go_in(load, account, cell, problem):
    quoted = cell.replace('"', '""')
    run = load("a.csv", f'externalId,title,metadata\n1,A,\n2,B,"{quoted}"\n3,C,"{{""s"": 1}}"\n')
    assert sorted(items(account)) == ["1", "3"]
    assert run.errors == [f"line 3: {problem}"]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (b"2,\xe9t\xe9 \xc3\xa9", "Is not UTF-8."),
        (b'2,"B" or not', "Is not CSV: ',' expected after '\"'."),
        (b"2," + b"x" * 2**20, "Is longer than 1,048,576 bytes."),
        (
            b'2,"' + (b"x" * 63 + b"\n") * 2**12,
            "Is not CSV, read up to line 2051: field larger than field limit (131072).",
        ),
    ],
)
def test_a_csv_row_that_cannot_be_read_is_reported(load: Import, row: bytes, problem: str) -> None:
    run = load("a.csv", b"externalId,title\n1,A\n" + row + b"\n3,C\n")
    assert run["created"] == 2
    assert run.errors[0] == f"line 3: {problem}"


def test_unclosed_quotes_and_files_without_a_valid_row_are_reported(load: Import) -> None:
    run = load("a.csv", 'externalId,title\n1,A\n2,"B\n3,C\n')
    assert run["created"] == 1
    assert run.errors == ["line 3: Is not CSV, read up to line 4: unexpected end of data."]
    with pytest.raises(CommandError, match="No row could be loaded"):
        load("a.csv", "externalId,title,type\n1,A,book\n")
    for name, data in {"a.csv": "externalId,title\n", "a.json": "[]"}.items():
        with pytest.raises(CommandError, match="The file has no rows"):
            load(name, data)


@pytest.mark.parametrize(
    ("name", "data", "options", "message"),
    [
        ("a.csv", "id,name\n1,A\n", ["--map=externalId=id", "--map=title=nmae"], "no column 'nmae'. It has: id, name"),
        ("a.jsonl", '{"id": "1"}\n', ["--map=externalId=id", "--map=title=name"], "no column 'name'"),
        ("a.csv", "id,name\n1,A\n", ["--map=heading=name"], "no field 'heading'"),
        ("a.csv", "id,name\n1,A\n", ["--map=created=name"], "no field 'created'"),
        ("a.csv", "id,name\n1,A\n", ["--map=title"], "write it as --map title="),
        ("a.csv", "id,name\n1,A\n", ["--map=title=id", "--map=title=name"], "title is given twice"),
        ("a.csv", "id,id,name\n1,2,A\n", ["--map=title=name", "--map=externalId=id"], "more than once"),
        ("a.csv", "title\nA\n", [], "externalId=COLUMN, or say --allow-duplicates"),
        ("a.csv", "", [], "The file is empty"),
        ("a.csv", b"\xff\xfet", [], "not UTF-8"),
        ("a.csv", "externalId,title\n1,A\n", ["--default=policyId=pol_none"], "policyId: There is no policy"),
        ("a.csv", "externalId,title\n1,A\n", ["--default=metadata.wordCount=-1"], "metadata.wordCount"),
        ("a.csv", "externalId,title\n1,A\n", ['--default=metadata={"s": NaN}'], "metadata: The cell is not JSON"),
        ("a.txt", "externalId,title\n1,A\n", [], "Say --format"),
        ("a.csv.gz", gzip.compress(b"externalId,title\n1,A\n" * 2000, mtime=0)[:-20], [], "cannot be read"),
    ],
)
def test_an_invalid_file_stops_the_import_before_anything_is_written(load, account, name, data, options, message):
    with pytest.raises(CommandError, match=re.escape(message)):
        load(name, data, *options)
    assert not items(account)


def test_a_file_that_is_not_there_and_an_unknown_account_are_named(account: Account, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="There is no file"):
        call_command("import_content", str(tmp_path / "none.csv"), "--account", account.pk)
    with pytest.raises(CommandError, match="There is no account 'acc_none'"):
        call_command("import_content", str(tmp_path / "none.csv"), "--account", "acc_none")


def test_a_column_that_only_some_rows_have_is_enough(load: Import, account: Account) -> None:
    rows = {"externalId": "1", "title": "A"}, {"externalId": "2", "title": "B", "by": "Ben"}
    load("a.jsonl", lines(*rows), "--map=externalId=externalId", "--map=title=title", "--map=metadata.author=by")
    assert [items(account)[name].author for name in "12"] == [None, "Ben"]


def test_blank_lines_count_in_the_lines_of_bad_rows(load, account):
    blank = "\n" * 100_000
    run = load("a.csv", f"\n\nexternalId,title\n{blank}1,A\n \n\t\n{blank}2\n\n\n3,C")
    assert sorted(items(account)) == ["1", "3"]
    assert run.errors == ["line 200007: Has 1 cells where the header has 2."]
    run = load("a.jsonl", f'\n{blank}{{"externalId": "5", "title": "A"}}\n\n  {{"x"\n{blank}')
    assert sorted(items(account)) == ["1", "3", "5"]
    assert [error.partition(":")[0] for error in run.errors] == ["line 100004"]


def test_an_archive_that_unpacks_to_a_hundred_times_its_size_is_refused(load, account, monkeypatch):
    monkeypatch.setattr("licensing.imports.files.MIN_UNPACKED_LIMIT", 1_000)
    packed = gzip.compress(b"externalId,title\n" + b"\n" * 1_000_000 + b"a,A\n")
    with pytest.raises(CommandError, match="inside, 100 times its size"):
        load("a.csv.gz", packed)
    assert not items(account)


def test_a_file_of_too_many_rows_is_refused(load: Import, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("licensing.imports.files.RowFile.most_rows", 2)
    with pytest.raises(CommandError, match="more than 2 rows"):
        load("a.csv", "externalId,title\na,A\nb,B\nc,C\n")
    assert not items(account)


ROWS = "externalId;title;tags\n1;Müller & Söhne;a\n2;Zwei;b\n"


@pytest.mark.parametrize(
    ("raw", "notice"),
    [
        (ROWS.encode("cp1252"), ["The file was read as Windows-1252."]),
        (ROWS.encode("utf-16"), ["The file was read as UTF-16."]),
        (gzip.compress(ROWS.encode("cp1252")), ["The file was read as Windows-1252."]),
        (ROWS.encode("utf-8-sig"), []),
        (ROWS.replace("\n", "\r").encode(), []),
        (ROWS.replace("\n", "\r").encode("cp1252"), ["The file was read as Windows-1252."]),
        (("sep=;\r\n" + ROWS.replace("\n", "\r\n")).encode("utf-8-sig"), []),
        (("SEP=|\n" + ROWS.replace(";", "|")).encode(), []),
    ],
    ids=["Windows-1252", "UTF-16", "gzipped", "BOM", "returns", "returns in Windows-1252", "sep", "another sep"],
)
def test_files_of_spreadsheets_are_read(load: Import, account: Account, raw: bytes, notice: list[str]) -> None:
    run = load("a.csv", raw)
    assert (run["created"], run.errors) == (2, notice)
    assert [(key, item.title, item.tags) for key, item in sorted(items(account).items())] == [
        ("1", "Müller & Söhne", ["a"]), ("2", "Zwei", ["b"])
    ]  # fmt: skip


def test_lines_are_counted_with_the_separator_line(load: Import) -> None:
    run = load("a.csv", "sep=;\nexternalId;title\n1;A\n2;B;C\n")
    assert run.errors == ["line 4: Has 3 cells where the header has 2."]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_json_array_and_numeric_ids_are_read(load: Import, account: Account, indent: int | None) -> None:
    rows = [{"id": number, "link": f"https://pub.example/{number}", "title": f"Ä {number}"} for number in range(1_500)]
    rows[7]["title"] = "x" * 501
    text = json.dumps(rows, indent=indent, ensure_ascii=False)
    columns = ["--map=externalId=id", "--map=source=link", "--map=title=title"]
    run = load("a.json", text, *columns)
    line = 37 if indent else 1  # of the row's brace
    assert (run["created"], run.errors) == (1_499, [f"line {line}: title: Must have at most 500 characters."])
    assert items(account)["1499"].title == "Ä 1499"
    assert load("a.jsonl", text, *columns)["unchanged"] == 1_499


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[{"externalId": "1", "title": "A"}, {"externalId": "2", ', "Is not JSON: Expecting property name"),
        ('[{"externalId": "1", "title": "A"}, 5]', "Is not a JSON object."),
        ('[{"externalId": "1", "title": "A"}, {"a": 1, "a": 2}]', "The row has a key twice"),
        ('[{"externalId": "1", "title": "A"}, ' + "[" * 100_000, "Is nested too deeply."),
        ('[{"externalId": "1", "title": "A"}, "' + "x" * 2**21, "Is not JSON: Unterminated string"),
        ('[{"externalId": "1", "title": "A"}', "Is not JSON: the array has no end."),
        ('[{"externalId": "1", "title": "A"}]\n \n[]', "Is not JSON: there is more behind the array."),
    ],
)
def test_a_broken_array_is_reported_and_the_rows_before_it_go_in(load: Import, text: str, problem: str) -> None:
    run = load("a.json", text)
    assert run["created"] == 1
    assert problem in run.errors[-1]


@pytest.mark.parametrize(
    ("cells", "options", "expected"),
    [
        (["24.11.2026", "4.5.2026"], [], [(11, 24), (5, 4)]),
        (["24/11/2026", "04/05/2026"], [], [(11, 24), (5, 4)]),
        (["11/24/2026", "04/05/2026 10:30 PM"], [], [(11, 24), (4, 5)]),
        (["04-05-2026", "2026-11-24"], ["--dates=day-first"], [(5, 4), (11, 24)]),
        (["04/05/2026", "05/06/2026"], ["--dates=month-first"], [(4, 5), (5, 6)]),
    ],
)
def test_dates_of_spreadsheets_are_read_in_the_order_of_their_column(load, account, cells, options, expected):
    rows = "".join(f"{number},T,{cell}\n" for number, cell in enumerate(cells))
    assert load("a.csv", f"externalId,title,metadata.publishedAt\n{rows}", *options).errors == []
    dates = [item.published_at for _, item in sorted(items(account).items())]
    assert dates == [date(2026, month, day) for month, day in expected]


@pytest.mark.parametrize("cells", [["04/05/2026"], ["24/11/2026", "11/24/2026"]])
def test_ambiguous_dates_are_refused_with_the_option_that_decides(load: Import, cells: list[str]) -> None:
    rows = "".join(f"{number},T,{cell}\n" for number, cell in enumerate(cells))
    run = load("a.csv", f"externalId,title,metadata.publishedAt\n{rows}ok,T,\n")
    assert run.errors[0] == (
        f"line 2: metadata.publishedAt: {cells[0]!r} may begin with its day or its month. "
        "Choose the order of dates (--dates)."
    )


def test_many_rows_with_the_same_problem_are_one_message(load: Import) -> None:
    rows = "".join(f"{number},T,book {number}\n" for number in range(100))
    run = load("a.csv", f"externalId,title,type\n{rows}good,T,\nlast,,\n")
    problem = "type: Must be one of: article, report, image, dataset, video."
    assert run.errors == [
        f"line 2: {problem}", f"line 3: {problem}", f"line 4: {problem}",
        "line 103: title: This field is required.", f"97 more lines: {problem}",
    ]  # fmt: skip


SITEMAP = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:news="http://www.google.com/schemas/sitemap-news/0.9">
<url><loc>https://pub.example/2026/winter-at-sea.html</loc><lastmod>2026-11-20</lastmod></url>
<url><loc>
  https://pub.example/a?b=1&amp;c=2</loc>
  <news:news><news:publication><news:name>P</news:name></news:publication>
  <news:publication_date>2026-11-24T10:00:00+01:00</news:publication_date><news:title>Ä &amp; B</news:title>
  </news:news>
</url>
<url><loc>https://pub.example/</loc></url>
</urlset>"""


@pytest.mark.parametrize(("name", "options"), [("sitemap.xml.gz", []), ("pages", ["--format=sitemap"])])
def test_a_sitemap_is_read(load: Import, account: Account, name: str, options: list[str]) -> None:
    raw = SITEMAP.encode()
    run = load(name, gzip.compress(raw) if name.endswith(".gz") else raw, *options)
    assert (run["created"], run.errors) == (3, [])
    known = {item.source: (item.external_id, item.title, item.published_at) for item in items(account).values()}
    news = "https://pub.example/a?b=1&c=2"
    assert known == {
        "https://pub.example/2026/winter-at-sea.html":
            ("https://pub.example/2026/winter-at-sea.html", "Winter at sea", None),
        news: (news, "Ä & B", date(2026, 11, 24)),
        "https://pub.example/": ("https://pub.example/", "Pub.example", None),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<sitemapindex><sitemap/></sitemapindex>", "This is an index of sitemaps"),
        ("<rss><channel/></rss>", "it begins with <rss> instead of <urlset>"),
        ('<!DOCTYPE urlset [<!ENTITY a "b">]><urlset/>', "it has a DOCTYPE"),
        ("<urlset><url></urlset>", "Line 1 is not XML: mismatched tag"),
        ("", "Line 1 is not XML: no element found"),
    ],
)
def test_broken_arrays_and_other_xml_are_refused_by_name(load: Import, text: str, problem: str) -> None:
    with pytest.raises(CommandError, match=problem):
        load("a.xml", text)


def test_the_share_that_was_understood_has_one_decimal_and_is_rounded_down() -> None:
    shares = [share_without(failed, 1_000) for failed in range(1_001)]
    assert [json.dumps(share) for share in shares] == [f"{tenths / 10:.1f}" for tenths in range(1_000, -1, -1)]
    assert share_without(1, 2_000_000) == 99.9
