"""Lists and exports: every row once, in order, and identical in pages, JSON Lines and CSV."""

from decimal import Decimal
from typing import Any

import pytest

from tests.world.evidence import EXPORTED, NESTED, ONLY_LISTED, REPORTS
from tests.world.model import resources
from tests.world.model.expected import Expected
from tests.world.publisher import IS_WHOLE

CHUNK = 250  # rows of a file are read so many at a time
IN_TWO_CHUNKS = {"sites", "ledger", "statements"}  # of others three
SHORT = {"wallets", "API keys"}

every_export = pytest.mark.parametrize("name", EXPORTED)


def test_every_list_and_report_that_the_service_exports_is_compared_here(month: Expected) -> None:
    assert month.found["exportable"] == {*EXPORTED.values(), *NESTED.values(), *REPORTS.values()}


@pytest.mark.parametrize("name", resources.LISTS)
def test_every_list_has_what_was_made_and_nothing_else(month: Expected, name: str) -> None:
    expected = resources.LISTS[name](month)
    fields = next(iter(expected.values()))
    found = {row["id"]: {field: row.get(field) for field in fields} for row in month.rows(name)}
    assert found == expected


@every_export
def test_the_whole_month_fills_several_chunks_of_every_long_export(month: Expected, name: str) -> None:
    full_chunks = 1 if name in IN_TWO_CHUNKS else 2
    assert len(month.rows(name)) > (CHUNK * full_chunks if IS_WHOLE and name not in SHORT else 0)


@pytest.mark.parametrize("name", [*EXPORTED, *ONLY_LISTED])
def test_every_list_has_each_row_on_one_page_and_counts_them_all(month: Expected, name: str) -> None:
    found = month.found["lists"][name]
    ids = [row["id"] for row in found["rows"]]
    assert len(set(ids)) == len(ids)
    assert set(found["totals"]) == {len(ids)}


@every_export
def test_every_json_lines_export_has_every_row_of_the_list_in_its_order(month: Expected, name: str) -> None:
    assert [row["id"] for row in month.found["jsonl"][name]] == [row["id"] for row in month.rows(name)]
    assert month.found["jsonl"][name] == month.rows(name)


@every_export
def test_every_csv_export_has_every_row_of_the_list_in_its_order(month: Expected, name: str) -> None:
    compare_table(month.found["csv"][name], month.rows(name))


@pytest.mark.parametrize("name", NESTED)
def test_the_files_of_every_wallet_and_statement_have_the_rows_of_its_lists(month: Expected, name: str) -> None:
    files = month.found["nested files"][name]
    assert any(month.found[name].values())
    assert files.keys() == month.found[name].keys()
    for id_, (table, rows) in files.items():
        assert rows == month.found[name][id_]
        compare_table(table, rows)


@pytest.mark.parametrize("name", REPORTS)
def test_the_files_of_every_report_have_the_rows_of_all_its_lists(month: Expected, name: str) -> None:
    table, lines = month.found["report files"][name]
    for list_, rows in month.found["reports"][name].items():
        if isinstance(rows, list):
            own = [
                {key: value for key, value in row.items() if key != "list"} for row in lines if row["list"] == list_
            ]
            assert own == rows
            compare_cells([row for row in table if row["list"] == list_], rows)


def compare_table(table: list[dict[str, str]], rows: list[dict[str, Any]]) -> None:
    """Compare a CSV with the rows of the list, by id and by cell."""
    assert [row["id"] for row in table] == [row["id"] for row in rows]
    compare_cells(table, rows)


def compare_cells(table: list[dict[str, str]], rows: list[dict[str, Any]]) -> None:
    assert len(table) == len(rows)
    differing = [
        (column, row[column], cells.get(column, ""))
        for row, cells in zip(table, map(flattened, rows), strict=True)
        for column in set(row) - {"list"}
        if not same(row[column], cells.get(column))
    ]
    assert differing == []


def flattened(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested members as `object.member`; lists stay."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            found |= flattened(value, f"{prefix}{name}.")
        found[f"{prefix}{name}"] = value
    return found


def same(cell: str, value: Any) -> bool:
    """Whether a CSV cell equals the API's value."""
    if value is None or value == {}:
        return cell in ("", "{}")
    if isinstance(value, bool):
        return cell == str(value).lower()
    if isinstance(value, int | Decimal):
        return Decimal(cell) == value
    if isinstance(value, list | dict):
        return cell.startswith(("[", "{"))
    return cell in (value, f"'{value}")  # a formula begins with an apostrophe


WAREHOUSE = {"/v1/access/decisions": "decisions", "/v1/revenue": "ledger", "/v1/audit": "audit log"}


@pytest.mark.parametrize("path", WAREHOUSE)
def test_the_files_of_all_days_add_up_to_the_whole_list(month: Expected, path: str) -> None:
    taken = [row["id"] for row in month.found["warehouse"][path]]
    last_night = [row["id"] for row in month.rows(WAREHOUSE[path]) if row["created"] >= f"{month.now:%Y-%m-%d}"]
    assert sorted(taken + last_night) == sorted(row["id"] for row in month.rows(WAREHOUSE[path]))
