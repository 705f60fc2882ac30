"""The first pass over a file to import, before anything is written.

Finds the columns, and rows that a later row with the same externalId supersedes; without it, importing a file again
would write both rows in turn. Keeps a digest of each id: about 100 bytes per row.
"""

from dataclasses import dataclass, field
from hashlib import blake2b

from licensing.imports.dates import DateOrder
from licensing.imports.files import RowFile
from licensing.imports.rows import ImportRow

MAX_COLUMNS = 10_000


@dataclass(slots=True)
class Survey:
    """The result of the first pass over a file."""

    rows: int = 0
    columns: dict[str, None] = field(default_factory=dict)  # in the order of the file; used as an ordered set
    last_lines: dict[bytes, int] = field(default_factory=dict)  # for externalIds that occur more than once

    def is_superseded(self, row: ImportRow, id_column: str | None) -> bool:
        """Whether a later row has the same externalId."""
        key = row_digest(row, id_column) if self.last_lines else None
        return key in self.last_lines and self.last_lines[key] > row.line


def row_digest(row: ImportRow, column: str | None) -> bytes | None:
    value = row.values.get(column) if column else None
    if isinstance(value, int):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        return None
    return blake2b(repr(value).encode(), digest_size=12).digest()  # repr, because lone surrogates cannot be encoded


def survey_file(file: RowFile, id_column: str | None, date_column: str | None, order: DateOrder) -> Survey:
    """Read the file once. `order` takes note of the values in the column with dates."""
    result = Survey(columns=dict.fromkeys(file.header()))
    seen: set[bytes] = set()
    for row in file.rows():
        result.rows += 1
        if not file.is_csv and len(result.columns) < MAX_COLUMNS:
            result.columns |= dict.fromkeys(row.values)
        if date_column is not None:
            order.note(row.values.get(date_column))
        key = row_digest(row, id_column)
        if key in seen:
            result.last_lines[key] = row.line
        elif key is not None:
            seen.add(key)
    return result
