"""Spending from wallets on SQLite, by the conditions of PostgreSQL's statement (analytics.recording.spending)."""

from collections.abc import Callable

import orjson
from django.db.backends.utils import CursorWrapper

from analytics.recording.batch import Batch
from analytics.recording.entries import Case
from analytics.wallets.book import level_of
from analytics.wallets.models import WalletEntryType
from kit.values.decimals import from_millionths
from kit.values.timestamps import as_django_writes

WALLET = "SELECT balance, floor, reference, thresholds, next_change_at FROM analytics_wallet WHERE id = %s"
TAKE = "UPDATE analytics_wallet SET balance = balance - %s WHERE id = %s"
SPENT = """INSERT INTO analytics_walletentry (id, account_id, wallet_id, type, amount, decision_id, created)
  VALUES (%s, %s, %s, %s, %s, %s, %s)"""


def spend_on_sqlite(
    cursor: CursorWrapper, batch: Batch, is_refused: Callable[[Case], bool]
) -> tuple[set[int], dict[int, int]]:
    """Take what the batch spends from its wallets.

    Returns the numbers of requests that need a transaction, and what the cases that spent leave in their wallets.
    """
    totals: dict[str, int] = {}
    latest: dict[str, str] = {}
    for spend in batch.spends:
        totals[spend.wallet] = totals.get(spend.wallet, 0) + spend.amount
        latest[spend.wallet] = max(batch.cases[spend.case].created, latest.get(spend.wallet, ""))
    rooms = {wallet: covered_by(cursor, wallet, total, latest[wallet]) for wallet, total in totals.items()}
    short = [batch.cases[spend.case].spending for spend in batch.spends if rooms[spend.wallet] is None]
    uncovered = {number for number in short if number is not None}
    available: dict[int, int] = {}
    for spend in batch.spends:
        case, room = batch.cases[spend.case], rooms[spend.wallet]
        if room is None or case.spending in uncovered or is_refused(case):
            continue
        rooms[spend.wallet] = room = room - spend.amount
        if spend.last:
            available[spend.case] = room
        id_, account, wallet, decision = map(
            bytes.fromhex, (spend.id, case.account, spend.wallet, batch.ids[case.first - 1])
        )
        created = as_django_writes(case.created)
        cursor.execute(TAKE, [spend.amount, wallet])
        cursor.execute(SPENT, [id_, account, wallet, WalletEntryType.SPEND, -spend.amount, decision, created])
    return uncovered, available


def covered_by(cursor: CursorWrapper, wallet: str, total: int, latest: str) -> int | None:
    """Return what can be spent from the wallet if it covers the total until that time; None if it needs more work."""
    row = cursor.execute(WALLET, [bytes.fromhex(wallet)]).fetchone()
    if row is None:
        return None
    balance, floor, reference, thresholds, next_change_at = row
    left = balance - total
    if left <= floor or (next_change_at is not None and str(next_change_at) <= as_django_writes(latest)):
        return None
    levels = [level_of(one, from_millionths(reference)) for one in orjson.loads(thresholds)]
    if any(from_millionths(left) <= level < from_millionths(balance) for level in levels):
        return None
    return int(balance - floor)
