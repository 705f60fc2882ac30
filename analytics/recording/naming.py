"""Requesters written together with decisions: new ones, and those that had no name.

They share the decisions' transaction, and the decisions are stored only if the requesters are theirs: a crash leaves
both or neither. If another request has just created a requester, or a write holds the account
(accounts.plans.epochs.lock_epoch), the request is decided again.
"""

from django.db.backends.utils import CursorWrapper
from msgspec import Struct

from accounts.plans.epochs import EPOCH_LOCK_SQL


class NamedRequester(Struct, gc=False):
    """A requester's number, its id in the API, and its name, if any. A stored name is never replaced."""

    requester: int
    requester_id: str
    name: str | None


class Naming(Struct, eq=False, frozen=True, gc=False):
    """The requesters that a request creates or gives a name.

    `account` is a UUID in hex. The batch sets `number`, its position, in a copy.
    """

    account: str
    created: str  # ISO 8601
    requesters: list[NamedRequester]
    number: int = 0


NAME = """
  INSERT INTO licensing_requester AS known (id, account_id, requester_id, name, created)
  {source}
  ON CONFLICT (account_id, requester_id) DO UPDATE SET name = coalesce(known.name, excluded.name)
  WHERE known.id = excluded.id
  RETURNING id"""
# If several requests of a batch name the same new requester, the first creates it, and the first name counts.
FIRST_NAMES_SQL = """SELECT DISTINCT ON (account, requester_id) requester, account, requester_id, name, created
  FROM naming WHERE account IN (SELECT id FROM unheld)
  ORDER BY account, requester_id, requester, name IS NULL, number"""
# Nothing may be stored for the namings in `unnamed`. Requesters come before counters and keys, which depend on them.
# LATERAL makes PostgreSQL look each account up by its primary key: it expects many accounts in a batch, and for those
# it would sometimes rather read the whole table.
NAMINGS = f"""
, naming AS MATERIALIZED (
  SELECT number, account, requester, requester_id, name, created
  FROM json_to_recordset(%s::json) AS naming (number int, account uuid, created timestamptz, requesters json),
    json_to_recordset(requesters) AS one (requester bigint, requester_id text COLLATE "C", name text)
), shared AS MATERIALIZED (
  SELECT account FROM (SELECT DISTINCT account FROM naming WHERE account NOT IN (SELECT account FROM stale)) AS one
  WHERE pg_try_advisory_xact_lock_shared({EPOCH_LOCK_SQL.format(account="account::text")})
), unheld AS MATERIALIZED (
  SELECT id FROM (SELECT account FROM shared ORDER BY account) AS one, LATERAL (
    SELECT id FROM accounts_account WHERE id = one.account LIMIT 1 FOR KEY SHARE SKIP LOCKED) AS found
), named AS ({NAME.format(source=FIRST_NAMES_SQL)}
), unnamed AS MATERIALIZED (
  SELECT DISTINCT number FROM naming WHERE requester NOT IN (SELECT id FROM named)
)"""  # noqa: S608 - made of constants
IS_NAMED = "AND (naming IS NULL OR naming NOT IN (SELECT number FROM unnamed))"


def name_on_sqlite(cursor: CursorWrapper, naming: Naming, created: str) -> bool:
    """Write the requesters. Returns False if another request created one of them. `created` is in Django's format."""
    statement = NAME.format(source="VALUES (%s, %s, %s, %s, %s)")
    account = bytes.fromhex(naming.account)
    return all(
        cursor.execute(
            statement, [requester.requester, account, requester.requester_id, requester.name, created]
        ).fetchone()
        for requester in naming.requesters
    )
