import gzip
import json
from datetime import date

import pytest
from django.core.management import CommandError

from accounts.models import Account
from tests.commands.importing import Import, items

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
    rows = [{"id": number, "link": f"https://pub.example/{number}", "title": f"Ä {number}"} for number in range(3_000)]
    rows[7]["title"] = "x" * 501
    text = json.dumps(rows, indent=indent, ensure_ascii=False)
    columns = ["--map=externalId=id", "--map=source=link", "--map=title=title"]
    run = load("a.json", text, *columns)
    line = 37 if indent else 1  # of the row's brace
    assert (run["created"], run.errors) == (2_999, [f"line {line}: title: Must have at most 500 characters."])
    assert items(account)["2999"].title == "Ä 2999"
    assert load("a.jsonl", text, *columns)["unchanged"] == 2_999


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
def test_dates_of_spreadsheets_are_read_in_the_order_of_their_column(
    load: Import, account: Account, cells: list[str], options: list[str], expected: list[tuple[int, int]]
) -> None:
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
