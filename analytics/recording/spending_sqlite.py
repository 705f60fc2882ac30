"""Spending from wallets on SQLite, by the conditions of PostgreSQL's statement (analytics.recording.spending)."""

from collections.abc import Collection

from django.db.backends.utils import CursorWrapper

from analytics.recording.batch import Batch
from analytics.recording.spending import COVERS
from analytics.wallets.models import WalletEntryType
from kit.values.timestamps import as_django_writes

COVERED = f"""SELECT balance - floor FROM analytics_wallet, (SELECT %s AS total, %s AS latest)
  WHERE id = %s AND {COVERS.format(total="total", latest="latest")}"""  # noqa: S608 - made of constants
MOST = 2**62  # more than a wallet holds, in millionths
TAKE = "UPDATE analytics_wallet SET balance = balance - %s WHERE id = %s"
SPENT = """INSERT INTO analytics_walletentry
    (id, account_id, wallet_id, requester_id, type, amount, decision_id, created)
  SELECT %s, account_id, id, requester_id, %s, %s, %s, %s FROM analytics_wallet WHERE id = %s"""


def spend_on_sqlite(cursor: CursorWrapper, batch: Batch, stale: Collection[str]) -> dict[int, int]:
    """Take what the batch spends from its wallets, except from those of the `stale` accounts.

    Returns what each wallet that pays could spend before the batch, in millionths, by its number.
    """
    purses = list(batch.purses.values())
    latest = max((case.created for case in batch.cases), default="")
    credit = {purse.number: covered_by(cursor, purse.wallet, purse.total, latest) for purse in purses}
    short = {purse.pool for purse in purses if credit[purse.number] is None}
    # A pool is of one account.
    refused = {purses[spend.purse].pool for spend in batch.spends if batch.cases[spend.case].account in stale}
    paying = {
        purse.number: room
        for purse in purses
        if (room := credit[purse.number]) is not None and purse.pool not in short | refused
    }
    for purse in purses:
        if purse.number in paying:
            cursor.execute(TAKE, [purse.total, bytes.fromhex(purse.wallet)])
    for spend in batch.spends:
        if spend.purse in paying:
            case = batch.cases[spend.case]
            id_, decision, wallet = map(
                bytes.fromhex, (spend.id, batch.ids[case.first - 1], purses[spend.purse].wallet)
            )
            created = as_django_writes(case.created)
            cursor.execute(SPENT, [id_, WalletEntryType.SPEND, -spend.amount, decision, created, wallet])
    return paying


def covered_by(cursor: CursorWrapper, wallet: str, total: int, latest: str) -> int | None:
    """Return what can be spent from the wallet if it covers the total until that time; None if it needs more work."""
    row = cursor.execute(COVERED, [min(total, MOST), as_django_writes(latest), bytes.fromhex(wallet)]).fetchone()
    return None if row is None else int(row[0])
