"""Imports in the admin: previews a file, then imports it (docs/guides/admin.md).

Uses `licensing.imports.importer` with limits, so that a request ends within about a minute for any file.
"""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from rest_framework.exceptions import ValidationError

from kit.http.errors import ApiError, InvalidRequest
from kit.rest.csv_lines import csv_bytes, harmless
from licensing.content.metadata import ATTRIBUTES
from licensing.imports.dates import Order
from licensing.imports.files import RowFile, open_rows
from licensing.imports.importer import Import, rejection_reason
from licensing.imports.mapping import get_value
from licensing.imports.problems import Problems
from licensing.imports.rows import BoundedReader, ImportRow, Readable
from licensing.imports.survey import MAX_COLUMNS

MAX_READ_BYTES = 200 * 1024 * 1024  # decompressed size
MAX_ROWS = 100_000
MAX_LINES = 1_000_000  # not counting blank lines between rows
MAX_SHOWN_PROBLEMS = 100
MAX_SHOWN_CHARACTERS = 200  # of a cell
FIRST_ROWS = 10
TARGETS = {
    "externalId": "External id",
    "title": "Title",
    "type": "Type",
    "source": "Source (URL)",
    "policyId": "Policy (id)",
    "status": "Status",
    "tags": "Tags",
    **{f"metadata.{attribute.name}": attribute.label for attribute in ATTRIBUTES},
    "metadata": "Metadata (a JSON object)",
}
LARGER = "Larger files are for the command import_content (docs/guides/importing.md)."


class BoundedLines(BoundedReader):
    """Limits a file to MAX_READ_BYTES bytes and MAX_LINES lines, because a single row may span many lines."""

    def __init__(self, file: Readable) -> None:
        super().__init__(file, MAX_READ_BYTES, f"The file has more than {MAX_READ_BYTES >> 20} MiB inside. {LARGER}")
        self.lines = MAX_LINES

    def seek(self, position: int, /) -> int:
        self.lines = MAX_LINES
        return super().seek(position)

    def readline(self, size: int, /) -> bytes:
        self.lines -= 1
        if self.lines < 0:
            raise InvalidRequest(f"The file has more than {MAX_LINES:,} lines. {LARGER}")
        return super().readline(size)


class BoundedRows(RowFile):
    most_rows = MAX_ROWS
    larger = LARGER

    @staticmethod
    def bounded(file: Readable) -> Readable:
        return BoundedLines(file)


@dataclass(frozen=True)
class Plan:
    """How to import a file: `columns` maps fields to columns; `defaults` fill empty fields."""

    account_id: str
    format: str
    columns: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    allow_duplicates: bool = False
    dates: Order | None = None


@dataclass
class PreviewOutcome:
    """The result of an import or preview, stored as JSON. `problem` concerns the file as a whole."""

    tally: dict[str, int] = field(default_factory=dict)
    problem: str | None = None
    bad: list[tuple[int, str]] = field(default_factory=list)  # the first rejected rows of each kind, with reasons
    more_bad: list[tuple[str, int]] = field(default_factory=list)  # reasons of further rows, and their number
    first: list[tuple[int, list[str]]] = field(default_factory=list)  # the first rows as parsed
    ignored: list[str] = field(default_factory=list)  # columns that are not imported
    sample: list[tuple[int, list[str]]] = field(default_factory=list)  # the first rows as in the file
    notes: list[str] = field(default_factory=list)


def read_columns(path: Path, kind: str) -> tuple[list[str], str | None]:
    """Return the file's columns in order, and its encoding if that is not UTF-8.

    Raises InvalidRequest if the file cannot be read.
    """
    columns: dict[str, None] = {}
    with open_rows(str(path), kind, BoundedRows) as file:
        if file.is_csv:
            return [name for name in dict.fromkeys(file.header()) if name], file.read_as
        for row in file.rows():
            columns |= dict.fromkeys(row.values)
            if len(columns) >= MAX_COLUMNS:
                break
        return list(columns), file.read_as


def run_plan(path: Path, plan: Plan, bad_rows: BinaryIO, *, dry_run: bool) -> PreviewOutcome:
    """Import the file, or only preview it with `dry_run`. Writes the rejected rows to `bad_rows` as CSV."""
    outcome = PreviewOutcome()
    problems: dict[int, str] = {}
    with suppress(ApiError), open_rows(str(path), plan.format, BoundedRows) as file:
        outcome.sample = [(row.line, raw_values(row)) for row in islice(file.rows(), FIRST_ROWS)]
    if "externalId" not in plan.columns and not plan.allow_duplicates:
        outcome.problem = (
            "No column gives the external id, by which an item is known again. Choose one below, or allow rows "
            "without it: then the same file again makes the same items again."
        )
        return outcome
    try:
        with open_rows(str(path), plan.format, BoundedRows) as file:
            work = Import(
                plan.account_id,
                file,
                plan.columns,
                plan.defaults,
                allow_duplicates=plan.allow_duplicates,
                dry_run=dry_run,
                dates=plan.dates,
            )
            outcome.ignored = [name for name in work.ignored if name]
            outcome.first = [
                (row.line, render_row(work, row, plan.columns)) for row in islice(file.rows(), FIRST_ROWS)
            ]
            work.run(problems.__setitem__, lambda tally: None)
            outcome.tally = asdict(work.tally)
            outcome.notes = work.notes
            write_rejected(file, list(work.survey.columns), problems, bad_rows)
    except (ApiError, ValidationError) as error:
        outcome.problem = rejection_reason(error)
    add_problems(outcome, problems)
    return outcome


def add_problems(outcome: PreviewOutcome, problems: dict[int, str]) -> None:
    """Add the problems of rows by line, grouped by their kinds."""
    groups = Problems()
    first_of_kinds = [(line, problem) for line, problem in sorted(problems.items()) if groups.note(line, problem)]
    outcome.bad = first_of_kinds[:MAX_SHOWN_PROBLEMS]
    outcome.more_bad = groups.more()


def raw_values(row: ImportRow) -> list[str]:
    cells = row.cells or row.values.values() or ([row.problem] if row.problem else [])
    return [shown_cell(cell) for cell in cells]


def render_row(work: Import, row: ImportRow, columns: dict[str, str]) -> list[str]:
    """Return the values that a row has for each mapped field, as text."""
    if row.problem is not None:
        return [row.problem]
    try:
        body = work.mapping.body(row.values)
    except ApiError as error:
        return [rejection_reason(error)]
    return [shown_cell(get_value(body, target)) for target in columns]


def shown_cell(value: object) -> str:
    """Return the value's first MAX_SHOWN_CHARACTERS. Lone surrogates, which cannot be encoded, become `?`."""
    return as_text(value)[:MAX_SHOWN_CHARACTERS].encode(errors="replace").decode()


def as_text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def write_rejected(file: RowFile, columns: list[str], problems: dict[int, str], target: BinaryIO) -> None:
    """Write the rejected rows to `target` as CSV, each with its line number and the reason."""
    names = [name for name in columns if name]
    target.write(csv_bytes([["line", "problem", *map(harmless, names)]]))
    for row in file.rows():
        if row.line in problems:
            cells = list(row.cells) or [as_text(row.values.get(name)) for name in names]
            target.write(csv_bytes([[str(row.line), harmless(problems[row.line]), *map(harmless, cells)]]))
