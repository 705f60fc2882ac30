"""Where archived decisions are: the columns of the table, and the URIs of its files."""

import re
from datetime import date
from typing import NamedTuple

from django.conf import settings

NAMESPACE = "licensing"
DECISIONS = "decisions"
# Relative to the table. The month of a data file is validated by the pattern, so that a date can be made of it.
DATA_FILE = re.compile(r"data/(?P<account>acc_\w+)/(?P<month>\d{4}-(0[1-9]|1[0-2]))/\w+\.parquet")
METADATA_FILE = re.compile(r"metadata/([\w.-]+\.(json|avro)|version-hint\.text)")


class AccountMonth(NamedTuple):
    """A month of an account's decisions, as its first day."""

    account_id: str
    month: date


class Column(NamedTuple):
    """A column of the table. `kind` is its Iceberg type; `field` is the decision's, None for partition columns."""

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


def archive_uri() -> str:
    """Return the URI of the archive: file:///srv/archive or s3://bucket/prefix."""
    return settings.ARCHIVE_DIR if is_remote() else f"file://{settings.ARCHIVE_DIR}"


def is_remote() -> bool:
    return settings.ARCHIVE_DIR.startswith("s3://")


def table_uri() -> str:
    return f"{archive_uri()}/{NAMESPACE}/{DECISIONS}"


def data_uri() -> str:
    return f"{table_uri()}/data"


def file_uri(account_id: str, month: date, name: str) -> str:
    """Return the URI of one of a month's data files."""
    return f"{data_uri()}/{account_id}/{month:%Y-%m}/{name}.parquet"


def month_of_file(uri: str) -> AccountMonth | None:
    """Return the account and month of a data file; None if `file_uri` gives no such URI."""
    match = DATA_FILE.fullmatch(uri.removeprefix(f"{table_uri()}/"))
    if match is None:
        return None
    return AccountMonth(match["account"], date.fromisoformat(f"{match['month']}-01"))


def is_own_file(uri: str) -> bool:
    """Return whether archive_events writes files with such URIs. It deletes no others."""
    path = uri.removeprefix(f"{table_uri()}/")
    return bool(DATA_FILE.fullmatch(path) or METADATA_FILE.fullmatch(path))
