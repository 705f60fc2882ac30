"""The year's data on either database: requests, outcomes and charges."""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from itertools import accumulate
from typing import NamedTuple

DAYS = 365
ITEMS, REQUESTERS = 50_000, 20_000
REASONS = {
    "no_license": 0.15,
    "rate_limit_exceeded": 0.05,
    "license_expired": 0.04,
    "policy_denied": 0.03,
    "content_archived": 0.01,
    "no_policy": 0.01,
    "permission_not_granted": 0.01,
}
BELOW = [round(share, 2) for share in accumulate(REASONS.values())]  # a draw from 0 to 1 below it has that reason
POLICY = "0199a000-0000-7000-8000-000000000001"
LICENSE = "0199a000-0000-7000-8000-000000000002"
PERMISSION = "commercial_use"
FACTS = '{"contentType":"article","licenseType":"commercial","hasValidLicense":true,"requesterName":"Acme"}'


class Price(NamedTuple):
    """The price of an access."""

    tier: str
    currency: str
    millionths: int


# By the remainder of a requester's number: a third of them pay for what they are allowed.
PAYERS = 9
PRICES = {
    0: Price("commercial", "USD", 50_000),
    3: Price("research", "EUR", 10_000),
    6: Price("enterprise", "GBP", 200_000),
}
DOLLAR, EURO = "USD", "EUR"


def published_rates(today: date) -> Iterator[tuple[date, str, Decimal]]:
    """Return invented euro rates for each day of the year; the dollar comes first."""
    for ago in range(DAYS + 2):
        day = today - timedelta(days=ago)
        number = day.toordinal()
        yield day, DOLLAR, Decimal(10_500 + number * 37 % 1_000).scaleb(-4)  # 1.0500 to 1.1499
        yield day, "GBP", Decimal(8_200 + number * 53 % 600).scaleb(-4)  # 0.8200 to 0.8799


def dollars(today: date) -> Iterator[tuple[date, str, Decimal]]:
    """Return the value of each currency in dollars."""
    for day, currency, rate in published_rates(today):
        if currency == DOLLAR:
            of_euro = rate
            yield day, EURO, rate
        yield day, currency, of_euro / rate
