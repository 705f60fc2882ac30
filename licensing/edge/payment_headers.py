"""Price headers of pay per crawl: the price of access, the visitor's offer and the amount charged.

The header names are Cloudflare's (https://developers.cloudflare.com/ai-crawl-control/features/pay-per-crawl/).
"""

import re
from collections.abc import Sequence
from decimal import Decimal

from kit.values.currencies import MINOR_UNITS
from kit.values.decimals import from_millionths, plain, to_millionths
from licensing.access.event_loop.head import Head
from licensing.policies.offers import Offer, Payment

PRICE, EXACT, MOST = "crawler-price", "crawler-exact-price", "crawler-max-price"
CHARGED, ERROR = "crawler-charged", "crawler-error"
OFFERS = frozenset({EXACT.encode(), MOST.encode()})
match_price = re.compile(r"([A-Z]{3}) ([0-9]{1,7}(?:\.[0-9]{1,6})?)").fullmatch


class PaymentRefused(Exception):
    """An offered payment that cannot be accepted; `code` is the value of `crawler-error`."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def read_payment(head: Head, covered: frozenset[str] | None) -> Payment | None:
    """Return the payment that the visitor offers, or None. Raises PaymentRefused.

    If the request is signed, the signature must cover the price (`covered` are the signed components).
    """
    if OFFERS.isdisjoint(head.headers):
        return None
    exact, most = head.header(EXACT.encode()), head.header(MOST.encode())
    if exact and most:
        raise PaymentRefused("ConflictingPriceHeaders", f"Send {EXACT} or {MOST}, not both.")
    if not exact and not most:
        return None
    if covered is not None and (EXACT if exact else MOST) not in covered:
        raise PaymentRefused("InvalidSignature", "The signature has to cover the price.")
    match = match_price(exact or most)
    if match is None or match[1] not in MINOR_UNITS:
        raise PaymentRefused("InvalidCrawlerPriceValue", "A price is a currency and an amount, as in USD 0.01.")
    return Payment(to_millionths(Decimal(match[2])), match[1], bool(exact))


def format_price(amount: int, currency: str) -> str:
    """Format a price in millionths for a header, with at least two decimal places."""
    whole, _, places = plain(from_millionths(amount)).partition(".")
    return f"{currency} {whole}.{places:0<2}"


def render_price(offered: Sequence[Offer], payment: Payment | None) -> dict[str, str]:
    """Return the headers of a denial that payment could lift: the first offer's price and the error code."""
    if payment is None:
        error = "MissingCrawlerPrice"
    else:
        error = "InvalidCrawlerExactPrice" if payment.is_exact else "InvalidCrawlerMaxPrice"
    price = offered[0].price
    return {PRICE: format_price(price.amount, price.currency), ERROR: error}
