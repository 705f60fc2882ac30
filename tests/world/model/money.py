"""Expected revenue and statements, from sales, charges and refunds."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tests.world.diary import Booking, Paid
from tests.world.model.wallets import Book, Entry
from tests.world.model.windows import DAY, TICK, Window, midnight
from tests.world.publisher import ZONE

PLACES = {"USD": Decimal("0.01"), "EUR": Decimal("0.01"), "JPY": Decimal(1)}
WITHOUT_RATES = {"CHF"}
TOP, ZERO = 10, Decimal(0)
Rates = Mapping[str, Mapping[str, Decimal]]  # to the euro, by day and currency


def rate(rates: Rates, currency: str, day: date) -> Fraction:
    """Return the latest rate published up to that day."""
    if currency == "EUR":
        return Fraction(1)
    while day.isoformat() not in rates:
        day -= timedelta(days=1)
    return Fraction(rates[day.isoformat()][currency])


def convert(rates: Rates, booking: Booking, target: str) -> Fraction:
    """Convert an amount exactly, because half a cent may remain."""
    day = booking.counts.date()
    amount = Fraction(booking.amount)
    return amount * rate(rates, target, day) / rate(rates, booking.currency, day)


def rounded(amount: Fraction, currency: str) -> Decimal:
    return to_places(amount, PLACES[currency])


def to_places(amount: Fraction, place: Decimal) -> Decimal:
    """Round half to even."""
    return round(amount / Fraction(place)) * place


def revenue_report(
    bookings: Collection[Booking], window: Window, currency: str, rates: Rates, now: datetime
) -> dict[str, Any]:
    """Return the expected report, without titles and names."""
    within = [one for one in bookings if window.has(one.counts)]
    everything = [one for one in bookings if one.currency not in WITHOUT_RATES]
    inside = [(one, convert(rates, one, currency)) for one in everything if window.has(one.counts)]
    total = sum((amount for _, amount in inside), Fraction(0))
    before = sum((convert(rates, one, currency) for one in everything if window.before.has(one.counts)), Fraction(0))
    series: dict[datetime, Fraction] = defaultdict(Fraction)
    for one, amount in inside:
        series[window.bucket(one.counts)] += amount
    elapsed = Fraction((min(window.end, midnight(now) + DAY) - window.start) // TICK, DAY // TICK)
    tiers = added((one.tier or "other", amount) for one, amount in inside)
    return {
        "summary": {
            "total": rounded(total, currency),
            "currency": currency,
            "changePercent": to_places((total - before) * 100 / abs(before), Decimal("0.01")) if before else None,
            "projectedMonthly": rounded(total / elapsed * 30, currency),
        },
        "timeSeries": [
            {"date": window.label(bucket), "revenue": rounded(series[bucket], currency)} for bucket in window.buckets()
        ],
        "byLicenseType": {tier: rounded(amount, currency) for tier, amount in tiers.items()},
        "byRequester": top(added((one.requester, amount) for one, amount in inside), currency),
        "byContent": top(added((one.content, amount) for one, amount in inside), currency),
        "byCurrency": as_booked(within),
        "unconverted": [
            {**row, "entries": sum(one.currency == row["currency"] for one in within)}
            for row in as_booked(within)
            if row["currency"] in WITHOUT_RATES
        ],
    }


def as_booked(bookings: Iterable[Booking]) -> list[dict[str, Any]]:
    """Return the sums by currency, neither converted nor rounded."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for one in bookings:
        sums[one.currency] += one.amount
    return [{"currency": currency, "amount": sums[currency]} for currency in sorted(sums)]


def added(pairs: Iterable[tuple[Any, Fraction]]) -> dict[Any, Fraction]:
    found: dict[Any, Fraction] = defaultdict(Fraction)
    for name, amount in pairs:
        if name is not None:
            found[name] += amount
    return dict(found)


def top(earned: Mapping[str, Fraction], currency: str) -> list[dict[str, Any]]:
    ranked = sorted(earned.items(), key=lambda one: (-one[1], one[0]))[:TOP]
    return [{"id": id_, "revenue": rounded(amount, currency)} for id_, amount in ranked]


def stripped(report: dict[str, Any]) -> dict[str, Any]:
    """Return a report of the service without titles and names."""
    kept = {
        name: [{"id": row["id"], "revenue": row["revenue"]} for row in report[name]]
        for name in ("byRequester", "byContent")
    }
    return {**report, **kept}


KINDS = {"license": "licenses", "fee": "fees", "usage": "usage", "adjustment": "adjustments"}
Account = tuple[str | None, str]  # a requester and a currency


CREDITS = {
    "grant": "granted", "carry": "granted", "spend": "spent", "expire": "expired", "void": "expired",
    "refund": "refunded",
}  # fmt: skip


def month_of(at: float | datetime) -> str:
    """Return the publisher's month."""
    moment = at if isinstance(at, datetime) else datetime.fromtimestamp(at, UTC)
    return f"{moment.astimezone(ZONE):%Y-%m}"


MONTHS = {"month": 1, "quarter": 3, "year": 12}


def fees(id_: str, state: Mapping[str, Any], now: datetime) -> Iterator[Booking]:
    """Yield a licence's fees: at its start, and then on the same day and hour of the publisher's clock."""
    if not state["fee"]:
        return
    fee, first = state["fee"], state["startsAt"].astimezone(ZONE)
    due, number = first, 0
    while due <= min(now, state["expiresAt"] or now, state.get("revokedAt") or now):
        about = (state["requester"], id_, state["type"], None, None)
        at = due.astimezone(UTC)
        yield Booking("fee", Decimal(str(fee["amount"])), fee["currency"], *about, at, at)
        number += MONTHS[fee["every"]]
        years, month = divmod(first.month - 1 + number, 12)
        due = first.replace(year=first.year + years, month=month + 1)


def counted(paid: Paid, month: str) -> Decimal:
    """Return what a month's statement counts of a payment: the amount when recorded, less the amount when voided."""
    is_voided = paid.voided is not None and month_of(paid.voided) == month
    return paid.amount * ((month_of(paid.begun) == month) - is_voided)


def payments_of(payments: Iterable[Paid], month: str) -> dict[str, Decimal]:
    """Return what a statement counts as payments, payouts and payments for credit."""
    sums = dict.fromkeys(("payments", "payouts", "paidForCredit"), Decimal(0))
    for paid in payments:
        sums["paidForCredit" if paid.grant else f"{paid.kind}s"] += counted(paid, month)
    return sums


def statements(
    bookings: Iterable[Booking], books: Iterable[Book] = (), payments: Collection[Paid] = ()
) -> dict[tuple[str | None, str, str], dict[str, Any]]:
    """Return statements by requester, month and currency or `access`.

    A month counts its ledger entries, payments, voids and wallet entries.
    """
    accounts: dict[Account, dict[str, list[Booking]]] = defaultdict(lambda: defaultdict(list))
    for one in bookings:
        accounts[one.requester, one.currency][month_of(one.booked)].append(one)
    moved_in = credits_by_month(books)
    active = [(one.requester, one.currency, month_of(at)) for one in payments for at in (one.begun, one.voided) if at]
    active += [(*account, month) for account, months in moved_in.items() for month in months]
    for requester, unit, month in active:
        accounts[requester, unit].setdefault(month, [])
    found = {}
    for (requester, currency), months in accounts.items():
        balance = Decimal(0)
        own_payments = [one for one in payments if (one.requester, one.currency) == (requester, currency)]
        for month in sorted(months):
            sums = {name: Decimal(0) for name in KINDS.values()}
            for one in months[month]:
                sums[KINDS[one.type]] += one.amount
            total = sum(sums.values(), Decimal(0))
            refunds = -sum((one.amount for one in months[month] if is_refund(one)), Decimal(0))
            paid = payments_of(own_payments, month)
            closing = balance + total - paid["payments"] + paid["payouts"]
            found[requester, month, currency] = {
                "opening": balance,
                **sums,
                "total": total,
                "charges": total + refunds,
                "refunds": refunds,
                **paid,
                "closing": closing,
                "decisions": sum(one.type == "usage" for one in months[month]),
                "lines": len(lines(months[month])),
                "credits": credits_in(moved_in.get((requester, currency), {}), month),
            }
            balance = closing
    return found


def credits_in(by_month: Mapping[str, dict[str, Decimal]], month: str) -> dict[str, Decimal] | None:
    """Return a month's wallet totals; without a movement the balance stays. None if it is 0, too."""
    if month in by_month:
        return by_month[month]
    earlier = [name for name in by_month if name < month]
    balance = by_month[max(earlier)]["closing"] if earlier else ZERO
    if not balance:
        return None
    return {"opening": balance, "granted": ZERO, "spent": ZERO, "expired": ZERO, "refunded": ZERO, "closing": balance}


def is_refund(one: Booking) -> bool:
    return one.type == "adjustment" and one.amount < 0


def credits_by_month(books: Iterable[Book]) -> dict[Account, dict[str, dict[str, Decimal]]]:
    """Return each month's wallet totals by customer and unit, from the first active month to the last."""
    entries: dict[Account, dict[str, list[Entry]]] = defaultdict(lambda: defaultdict(list))
    for book in books:
        for owner, one in with_owners(book):
            entries[owner, book.purse.unit][month_of(one.at)].append(one)
    found: dict[Account, dict[str, dict[str, Decimal]]] = {}
    for account, months in entries.items():
        balance, found[account] = Decimal(0), {}
        for month in sorted(months):
            sums = dict.fromkeys(("granted", "spent", "expired", "refunded"), Decimal(0))
            for one in months[month]:
                sums[CREDITS[one.type]] += one.amount if CREDITS[one.type] in ("granted", "refunded") else -one.amount
            closing = balance + sum((one.amount for one in months[month]), Decimal(0))
            found[account][month] = {"opening": balance, **sums, "closing": closing}
            balance = closing
    return found


def with_owners(book: Book) -> Iterable[tuple[str, Entry]]:
    """Yield a wallet's entries with the customers they count for. A merge carries the balance over."""
    moved_at = book.purse.moved[0] if book.purse.moved else None
    for one in book.entries:
        is_given = one.type == "carry" and one.at == moved_at and one.amount < 0
        yield book.purse.requester if is_given else book.purse.owner_at(one.at), one


def lines(bookings: Iterable[Booking]) -> dict[Any, tuple[Decimal, int]]:
    """Return amount and charged decisions of each line: charges by licence and item, all others one by one."""
    found: dict[Any, tuple[Decimal, int]] = {}
    for number, one in enumerate(bookings):
        key = ("usage", one.license, one.tier, one.content) if one.type == "usage" else (one.type, number)
        amount, count = found.get(key, (Decimal(0), 0))
        found[key] = (amount + one.amount, count + (one.type == "usage"))
    return found
