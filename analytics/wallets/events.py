"""Events of wallets: `wallet.low`, `wallet.exhausted` and `wallet.topped_up`."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

from accounts.events import recording
from accounts.events.models import Event
from accounts.events.objects import objects
from analytics.wallets.models import Wallet
from kit.values.amounts import render_amount

LOW, EXHAUSTED, TOPPED_UP = "wallet.low", "wallet.exhausted", "wallet.topped_up"


class News(NamedTuple):
    """An event of a wallet that is to be written: its type, and the balance before.

    `wallet` is a copy as of the event, or None for the wallet as it is stored.
    """

    type: str
    balance: Decimal
    wallet: Wallet | None = None


def thresholds_reached(wallet: Wallet, before: Decimal) -> list[News]:
    """Return `wallet.low` for each threshold that the balance has fallen to, or below, from `before`."""
    levels = (level_of(threshold, wallet.reference) for threshold in wallet.thresholds)
    return [News(LOW, before) for level in levels if before > level >= wallet.balance]


def level_of(threshold: Mapping[str, float], reference: Decimal) -> Decimal:
    """Return the balance at which a threshold is reached."""
    if "percent" in threshold:
        return reference * int(threshold["percent"]) / 100
    return Decimal(str(threshold["value"]))


def announce(wallet: Wallet, news: Iterable[News]) -> None:
    """Write the events of a locked wallet, in the transaction that changes its balance."""
    recording.write([event_of(wallet, one) for one in news])


def event_of(wallet: Wallet, news: News) -> Event:
    shown = objects["wallet"].show(news.wallet or wallet)
    return recording.make(wallet.account_id, news.type, wallet.pk, shown, {"balance": render_amount(news.balance)})
