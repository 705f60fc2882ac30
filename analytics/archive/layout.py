"""Where archived decisions are: the columns of the table, and the URIs of its files."""

from datetime import date
from typing import NamedTuple

from django.conf import settings

NAMESPACE, DECISIONS = "licensing", "decisions"


class Column(NamedTuple):
    """A column of the table. `kind` is its Iceberg type; `field` is the decision's field, None for the partition's
    columns.
    """

    kind: str
    field: str | None
    required: bool = False


# Field ids are positions; add new columns at the end.
COLUMNS = {
    "account": Column("string", None, required=True),
    "month": Column("date", None, required=True),
    "id": Column("string", "pk", required=True),
    "created": Column("timestamptz", "created", required=True),
    "content": Column("string", "content_id", required=True),
    "requester": Column("long", "requester_id", required=True),
    "requester_id": Column("string", "requester__requester_id"),
    "policy": Column("string", "policy_id"),
    "policy_version": Column("int", "policy_version"),
    "allowed": Column("boolean", "allowed", required=True),
    "reason": Column("string", "reason"),
    "observed": Column("string", "observed"),
    "rule_index": Column("int", "rule_index"),
    "permission": Column("string", "permission"),
    "rate_remaining": Column("long", "rate_remaining"),
    "rate_reset": Column("long", "rate_reset"),
    "facts": Column("string", "facts", required=True),
}


def root() -> str:
    """Return the URI of the archive: file:///srv/archive or s3://bucket/prefix."""
    return settings.ARCHIVE_DIR if is_remote() else f"file://{settings.ARCHIVE_DIR}"


def is_remote() -> bool:
    return settings.ARCHIVE_DIR.startswith("s3://")


def table_uri() -> str:
    return f"{root()}/{NAMESPACE}/{DECISIONS}"


def file_uri(account_id: str, month: date, name: str) -> str:
    """Return the URI of one of a month's data files."""
    return f"{table_uri()}/data/{account_id}/{month:%Y-%m}/{name}.parquet"
