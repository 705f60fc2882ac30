"""Events of wallets: `wallet.low`, `wallet.exhausted` and `wallet.topped_up`: their thresholds and objects.

When one is due, and that `wallet.exhausted` comes once until credit is added, is decided in analytics.wallets.book.
"""

from collections.abc import Iterable, Mapping
from copy import copy
from decimal import ROUND_FLOOR, Decimal
from typing import NamedTuple

from accounts.events import recording
from accounts.events.models import Event
from accounts.events.recording import objects
from analytics.wallets.models import Wallet
from kit.values.decimals import MILLIONTH, render_amount

LOW, EXHAUSTED, TOPPED_UP = "wallet.low", "wallet.exhausted", "wallet.topped_up"


class News(NamedTuple):
    """An event to be written: its type, the wallet as of the event, and the balance before."""

    type: str
    wallet: Wallet
    before: Decimal


def build_news(type_: str, wallet: Wallet, before: Decimal) -> News:
    """Return an event that shows the wallet as it is now, whatever the transaction changes later."""
    return News(type_, copy(wallet), before)


def thresholds_reached(wallet: Wallet, before: Decimal) -> list[News]:
    """Return `wallet.low` for each threshold that the balance has fallen to, or below, from `before`."""
    levels = (threshold_level(threshold, wallet.reference) for threshold in wallet.thresholds)
    return [build_news(LOW, wallet, before) for level in levels if before > level >= wallet.balance]


def next_notice(wallet: Wallet) -> Decimal:
    """Return the next balance, on the way down, that is announced: that of a threshold, or the floor."""
    levels = [threshold_level(threshold, wallet.reference) for threshold in wallet.thresholds]
    notice = max([wallet.floor, *(level for level in levels if level < wallet.balance)])
    return notice.quantize(MILLIONTH, ROUND_FLOOR)


def threshold_level(threshold: Mapping[str, float], reference: Decimal) -> Decimal:
    """Return the balance at which a threshold is reached."""
    if "percent" in threshold:
        return reference * int(threshold["percent"]) / 100
    return Decimal(str(threshold["value"]))


def record_news(news: Iterable[News]) -> None:
    """Write the events of a locked wallet, in the transaction that changes its balance."""
    recording.write_events([build_event(item) for item in news])


def build_event(news: News) -> Event:
    wallet, previous = news.wallet, {"balance": render_amount(news.before)}
    return recording.build(wallet.account_id, news.type, wallet.pk, objects["wallet"].show(wallet), previous)
