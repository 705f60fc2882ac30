"""Lists and files: every row once, in order, the same by pages, as JSON Lines and as CSV."""

from decimal import Decimal
from typing import Any

import pytest

from tests.world.evidence import EXPORTED, ONLY_LISTED
from tests.world.model.expected import Expected

CHUNK = 250  # rows of a file are read so many at a time
CHUNKS = {"content": 3, "policies": 3, "licences": 3, "decisions": 3, "events": 3, "audit log": 3}  # of others two

every_export = pytest.mark.parametrize("name", EXPORTED)


@every_export
def test_the_month_fills_several_chunks_of_every_export(month: Expected, name: str) -> None:
    assert len(month.rows(name)) > CHUNK * (CHUNKS.get(name, 2) - 1)


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
    rows = month.found["csv"][name]
    assert [row["id"] for row in rows] == [row["id"] for row in month.rows(name)]
    columns = set(rows[0])
    differing = [
        (row["id"], column, row[column], cells.get(column, ""))
        for row, cells in zip(rows, map(flattened, month.rows(name)), strict=True)
        for column in columns
        if not same(row[column], cells.get(column))
    ]
    assert differing == []


def flattened(row: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The members of objects as `object.member`; lists stay."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            found |= flattened(value, f"{prefix}{name}.")
        found[f"{prefix}{name}"] = value
    return found


def same(cell: str, value: Any) -> bool:
    """Whether a cell of CSV says what the API does."""
    if value is None or value == {}:
        return cell in ("", "{}")
    if isinstance(value, bool):
        return cell == str(value).lower()
    if isinstance(value, int | Decimal):
        return Decimal(cell) == value
    if isinstance(value, list | dict):
        return cell.startswith(("[", "{"))
    return cell in (value, f"'{value}")  # what a spreadsheet would run begins with an apostrophe


WAREHOUSE = {"/v1/access/decisions": "decisions", "/v1/revenue": "ledger", "/v1/audit": "audit log"}


@pytest.mark.parametrize("path", WAREHOUSE)
def test_the_files_of_all_days_add_up_to_the_whole_list(month: Expected, path: str) -> None:
    taken = [row["id"] for row in month.found["warehouse"][path]]
    last_night = [row["id"] for row in month.rows(WAREHOUSE[path]) if row["created"] >= f"{month.now:%Y-%m-%d}"]
    assert sorted(taken + last_night) == sorted(row["id"] for row in month.rows(WAREHOUSE[path]))
