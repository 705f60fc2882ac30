"""Recording on SQLite: the parts of PostgreSQL's statement one by one, and the rollups at once.

SQLite has one writer at a time, and its statements cost no round trips.
"""

from collections.abc import Collection, Sequence
from datetime import date
from functools import cache, lru_cache
from itertools import chain
from typing import cast

import orjson
from django.db import OperationalError
from django.db.backends.utils import CursorWrapper

from accounts.plans.epochs import CHANGES_SINCE_SQL, EVERYTHING, Changes
from analytics.recording.batch import Batch, LimitCounter
from analytics.recording.entries import Case, Charge, Entry
from analytics.recording.naming import name_on_sqlite
from analytics.recording.outcomes import Outcome
from analytics.recording.spending_sql import COVERS
from analytics.recording.statement import BASE, COUNT, EVENT_COLUMNS, LEDGER_COLUMNS, RATE_LIMIT_EXCEEDED
from analytics.rollups.definitions import DECISION, ENTRY, EVERY_PART, REVENUE, USAGE, FirstParts
from analytics.wallets.models import WalletEntryType
from kit.storage.loading import Parameter
from kit.values.decimals import plain_millionths
from kit.values.timestamps import as_django_writes

Rows = Sequence[Sequence[Parameter]]
ROWS_PER_STATEMENT = 1_000
# The planner would rather read an index of the whole table in the order of the groups.
NEW_ROWS = "(SELECT {columns} FROM analytics_{table} NOT INDEXED WHERE rowid > %s) new_row"

COUNT_ON_SQLITE = (
    COUNT.format(source="VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", base=BASE, least="min", greatest="max")
    + "RETURNING used, granted"
)
FIND_CREDIT = f"""SELECT balance - floor FROM analytics_wallet, (SELECT %s AS total, %s AS latest)
  WHERE id = %s AND {COVERS.format(total="total", latest="latest")}"""  # noqa: S608 - made of constants
MAX_TOTAL = 2**62  # more than a wallet holds, in millionths
DEBIT = "UPDATE analytics_wallet SET balance = balance - %s WHERE id = %s"
INSERT_SPEND = """INSERT INTO analytics_walletentry
    (id, account_id, wallet_id, requester_id, type, amount, decision_id, created)
  SELECT %s, account_id, id, requester_id, %s, %s, %s, %s FROM analytics_wallet WHERE id = %s"""


def record_on_sqlite(cursor: CursorWrapper, batch: Batch) -> list[Outcome]:
    """Write the batch in the caller's transaction."""
    entries = [
        entry for entry, case in zip(batch.entries, batch.cases_or_outcomes, strict=True) if isinstance(case, Case)
    ]
    epochs = {account: current_epoch(cursor, account) for account in {entry.case.account for entry in entries}}
    outdated = [entry for entry in entries if entry.case.epoch != epochs[entry.case.account]]
    behind = {entry.case.account for entry in outdated}
    stale = {entry.case.account for entry in outdated if not facts_hold(cursor, entry)}
    unnamed = {
        naming.number
        for naming in batch.namings.values()
        if naming.account in stale or not name_on_sqlite(cursor, naming, as_django_writes(naming.created))
    }
    rooms = {
        counter.number: count_claims(cursor, counter)
        for counter in batch.counters.values()
        if counter.account not in stale and counter.naming not in unnamed
    }
    credit = spend_on_sqlite(cursor, batch, stale)
    outcomes = batch.outcomes(stale, rooms, behind, unnamed=unnamed, credit=credit)
    stored = []
    for entry, outcome in zip(batch.entries, outcomes, strict=True):
        if outcome.is_stored:
            stored += [StoredDecision(entry, outcome, index) for index in range(len(entry.ids))]
    if stored:
        days = {decision.created[:10] for decision in stored}
        first = FirstParts.of([date.fromisoformat(day) for day in days])
        insert_decisions(cursor, f"{EVENT_COLUMNS}, observed", [decision.row() for decision in stored], first)
    charged = [(decision.charge, decision) for decision in stored if decision.charge is not None]
    if charged:
        store_charges(cursor, charged)
    return outcomes


class StoredDecision:
    """One decision of an entry as stored, with ids as bytes."""

    def __init__(self, entry: Entry, outcome: Outcome, index: int) -> None:
        case = entry.case
        limit_result = None if outcome.remaining_before is None else outcome.counted(index)
        self.entry = entry
        self.remaining = None if limit_result is None else limit_result.remaining
        self.facts = case.facts
        if outcome.available is not None:
            credits_ = cast("dict[str, object]", case.facts["credits"])
            self.facts = case.facts | {"credits": credits_ | {"remaining": plain_millionths(outcome.available)}}
        self.id = bytes.fromhex(entry.ids[index])
        self.account = bytes.fromhex(case.account)
        self.content = bytes.fromhex(entry.contents[index])
        self.requester = case.requester
        self.allowed = case.allowed
        self.reason = case.reason
        self.observed = case.observed or None
        if limit_result is not None and not limit_result.granted:
            if case.observed is None:
                self.allowed = False
                self.reason = RATE_LIMIT_EXCEEDED
            else:
                self.observed = RATE_LIMIT_EXCEEDED
        self.created = as_django_writes(case.created)

    @property
    def charge(self) -> Charge | None:
        return self.entry.charge if self.allowed and self.observed is None else None

    def row(self) -> tuple[Parameter, ...]:
        """Return the values of EVENT_COLUMNS, and `observed`."""
        case = self.entry.case
        policy = case.policy and bytes.fromhex(case.policy)
        return (
            self.id,
            self.account,
            self.content,
            self.requester,
            policy,
            case.policy_version,
            self.allowed,
            self.reason,
            case.rule_index,
            case.permission,
            orjson.dumps(self.facts).decode(),
            self.remaining,
            case.rate_reset,
            self.created,
            self.observed,
        )


def insert_decisions(cursor: CursorWrapper, columns: str, rows: Rows, first: FirstParts = EVERY_PART) -> None:
    """Store decisions, at least one, and add them to the rollups."""
    last = insert(cursor, "accessevent", columns, rows)
    for statement in usage_additions(first):
        cursor.execute(statement, [last])


def add_to_revenue(cursor: CursorWrapper, last: int) -> None:
    """Add the entries of the ledger after the row with the number `last` to the rollups.

    Raises IntegrityError or OverflowError if a total exceeds 64 bits.
    """
    try:
        for statement in revenue_additions():
            cursor.execute(statement, [last])
    except OperationalError as error:
        if str(error) == "integer overflow":
            raise OverflowError from None
        raise


@lru_cache(maxsize=4)  # of the current day, and of all days
def usage_additions(first: FirstParts) -> list[str]:
    return [rollup.addition(NEW_ROWS.format(columns=DECISION, table="accessevent"), first) for rollup in USAGE]


@cache
def revenue_additions() -> list[str]:
    return [rollup.addition(NEW_ROWS.format(columns=ENTRY, table="entry")) for rollup in REVENUE]


def store_charges(cursor: CursorWrapper, charged: list[tuple[Charge, StoredDecision]]) -> None:
    """Write the ledger entries of charged decisions and update the revenue rollups."""
    entries = [
        (
            decision.id,
            decision.account,
            "usage",
            charge.amount,
            charge.currency,
            decision.created,
            None if charge.license is None else bytes.fromhex(charge.license),
            charge.license_type,
            decision.id,
            decision.content,
            decision.requester,
            decision.created,
        )
        for charge, decision in charged
    ]
    add_to_revenue(cursor, insert(cursor, "entry", LEDGER_COLUMNS, entries))


def insert(cursor: CursorWrapper, table: str, columns: str, rows: Rows) -> int:
    """Insert rows, at least one. Returns the number (`rowid`) of the table's last row before them."""
    marks = f"({', '.join(['%s'] * len(rows[0]))})"
    for start in range(0, len(rows), ROWS_PER_STATEMENT):
        some = rows[start : start + ROWS_PER_STATEMENT]
        values = ", ".join([marks] * len(some))
        cursor.execute(f"INSERT INTO analytics_{table} ({columns}) VALUES {values}", list(chain(*some)))  # noqa: S608
    return cast(int, cursor.lastrowid) - len(rows)


def current_epoch(cursor: CursorWrapper, account: str) -> int:
    row = cursor.execute("SELECT epoch FROM accounts_account WHERE id = %s", [bytes.fromhex(account)]).fetchone()
    return row[0] if row else -1


def facts_hold(cursor: CursorWrapper, entry: Entry) -> bool:
    """Whether nothing that the decisions depend on has changed since their epoch."""
    case = entry.case
    names = {*case.also, str(case.requester), case.policy or "", *entry.contents}
    cursor.execute(CHANGES_SINCE_SQL, [case.epoch, bytes.fromhex(case.account)])
    changes = Changes.of(case.epoch, cursor.fetchall())
    return (
        changes is not None
        and changes.epoch >= case.epoch
        and changes.names is not EVERYTHING
        and names.isdisjoint(changes.names)
    )


def count_claims(cursor: CursorWrapper, counter: LimitCounter) -> int:
    """Count the claims and return the room that the counter had before them."""
    first = min(counter.claimed, counter.allowance)
    key = (counter.requester, bytes.fromhex(counter.policy), bytes.fromhex(counter.rule), counter.window_start)
    claims: list[Parameter] = [*key, first, counter.allowance, counter.claimed, first]
    used, granted = cursor.execute(COUNT_ON_SQLITE, claims).fetchone()
    room: int = counter.allowance - used + granted
    return room


def spend_on_sqlite(cursor: CursorWrapper, batch: Batch, stale: Collection[str]) -> dict[int, int]:
    """Take what the batch spends from its wallets, except from those of the `stale` accounts.

    Returns what each wallet that pays could spend before the batch, in millionths, by its number.
    """
    purses = list(batch.purses.values())
    latest = max((case.created for case in batch.cases), default="")
    credit = {purse.number: available_credit(cursor, purse.wallet, purse.total, latest) for purse in purses}
    not_paying = {purse.pool for purse in purses if credit[purse.number] is None}
    # A pool is of one account.
    not_paying |= {purses[spend.purse].pool for spend in batch.spends if batch.cases[spend.case].account in stale}
    paying = {
        purse.number: available
        for purse in purses
        if (available := credit[purse.number]) is not None and purse.pool not in not_paying
    }
    for purse in purses:
        if purse.number in paying:
            cursor.execute(DEBIT, [purse.total, bytes.fromhex(purse.wallet)])
    for spend in batch.spends:
        if spend.purse in paying:
            case = batch.cases[spend.case]
            entry_id = bytes.fromhex(spend.id)
            decision = bytes.fromhex(batch.ids[case.first - 1])
            wallet = bytes.fromhex(purses[spend.purse].wallet)
            created = as_django_writes(case.created)
            cursor.execute(INSERT_SPEND, [entry_id, WalletEntryType.SPEND, -spend.amount, decision, created, wallet])
    return paying


def available_credit(cursor: CursorWrapper, wallet: str, total: int, latest: str) -> int | None:
    """Return what can be spent from the wallet if it covers the total until that time; None if it needs more work."""
    row = cursor.execute(
        FIND_CREDIT, [min(total, MAX_TOTAL), as_django_writes(latest), bytes.fromhex(wallet)]
    ).fetchone()
    return None if row is None else int(row[0])
