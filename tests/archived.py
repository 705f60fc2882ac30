"""The archive as any reader of its folder finds it, without its catalogue."""

from pathlib import Path

from pyiceberg.table import StaticTable


def newest_table(archive: Path) -> StaticTable | None:
    """Return the newest version of the table, or None before the first run."""
    versions = sorted(archive.glob("licensing/decisions/metadata/*.metadata.json"))
    return StaticTable.from_metadata(str(versions[-1])) if versions else None
