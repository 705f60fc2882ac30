"""Revenue reports, computed by force."""

import json
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from analytics import windows
from analytics.ledger.entries import add_entries
from analytics.models import ExchangeRate
from analytics.revenue.report import revenue_report
from analytics.revenue.serializers import present
from kit.http.rendering import render_json
from tests import factories, ledger

NOW = datetime(2026, 3, 4, 15, 30, tzinfo=UTC)
CURRENCIES = ["EUR", "USD", "JPY", "BHD"]
PLACES = {"EUR": 2, "USD": 2, "JPY": 0, "BHD": 3}
DAY, MICROSECOND = timedelta(days=1), timedelta(microseconds=1)
MIDNIGHT = datetime(2026, 3, 4, tzinfo=UTC)
# Starts and ends of days, weeks, months and windows, and a microsecond to each side.
EDGES = [MIDNIGHT - n * DAY + k * MICROSECOND for n in (-1, 0, 2, 3, 6, 7, 13, 29, 30, 59, 60) for k in (-1, 0, 1)]


class World:
    """Random entries and rates, in the database and as Python values."""

    days, many, moments = 70, 13, EDGES  # the oldest entry's maximum age in days, and times that many entries share

    def __init__(self, account, chance, size):
        self.chance = chance
        items = [factories.content(account) for _ in range(self.many)]
        orgs = [ledger.requester(account, f"org {n}") for n in range(self.many)]
        self.titles, self.numbers = {item.pk: item.title for item in items}, [org.pk for org in orgs]
        self.rates = self.publish()
        self.currencies = chance.sample(CURRENCIES, chance.randint(1, 4))
        self.entries = [
            ledger.entry(
                account,
                str(Decimal(chance.choice([1, 5, chance.randint(-(10**9), 10**10)])).scaleb(-chance.randint(0, 6))),
                currency=chance.choice(self.currencies),
                occurred_at=self.moment(),
                license_type=chance.choice([None, "commercial", "press", "Ä"]),
                content=chance.choice([None, *items]),
                requester=chance.choice([None, *orgs]),
            )
            for _ in range(size)
        ]
        add_entries(self.entries)

    def moment(self):
        if self.chance.random() < 0.4:
            return self.chance.choice(self.moments)
        return MIDNIGHT + DAY - timedelta(seconds=self.chance.random() * self.days * 86400)

    def publish(self):
        """Create exchange rates with gaps of up to nine days; return them as fractions."""
        rates, day = {}, date(2025, 11, 1)
        while day <= MIDNIGHT.date():
            for currency in CURRENCIES[1:]:
                rates[currency, day] = str(Decimal(self.chance.randint(1, 2_000_000)).scaleb(-4))
            day += self.chance.choice([1, 1, 1, 3, 8, 9 if self.chance.random() < 0.1 else 2]) * DAY
        ExchangeRate.objects.bulk_create(
            ExchangeRate(currency=currency, day=day, rate=rate) for (currency, day), rate in rates.items()
        )
        return {key: Fraction(rate) for key, rate in rates.items()}

    def rate(self, currency, day):
        if currency == "EUR":
            return Fraction(1)
        return next(self.rates[currency, day - n * DAY] for n in range(8) if (currency, day - n * DAY) in self.rates)

    def worth(self, entry, currency):
        """Return the entry's worth at the rate of its day, or None if there is none."""
        amount, day = Fraction(entry.amount), entry.occurred_at.date()
        if entry.currency == currency:
            return amount
        try:
            return amount * self.rate(currency, day) / self.rate(entry.currency, day)
        except StopIteration:
            return None


def bucket_of(moment, group):
    day = moment.date()
    if group == "week":
        return day - day.weekday() * DAY
    return day.replace(day=1) if group == "month" else day


def expected(world, start, end, group, currency):
    """Compute the report from all entries, for a window that includes both ends."""
    length = end + MICROSECOND - start
    total = before = Fraction(0)
    series, tiers, orgs, items, booked = (defaultdict(Fraction) for _ in range(5))
    unconverted = defaultdict(list)
    moment = start
    while moment <= end:
        series[bucket_of(moment, group)] += 0
        moment = min(moment + DAY, end) if moment < end else end + MICROSECOND
    for entry in world.entries:
        worth = world.worth(entry, currency)
        if start - length <= entry.occurred_at < start:
            before += worth or 0
        if start <= entry.occurred_at <= end:
            booked[entry.currency] += Fraction(entry.amount)
            if worth is None:
                unconverted[entry.currency].append(Fraction(entry.amount))
                continue
            total += worth
            series[bucket_of(entry.occurred_at, group)] += worth
            tiers[entry.license_type or "other"] += worth
            if entry.requester:
                orgs[entry.requester.requester_id] += worth
            if entry.content:
                items[entry.content_id] += worth
    elapsed = min(end + MICROSECOND, MIDNIGHT + DAY) - start
    return {
        "total": total,
        "change": (total - before) * 100 / abs(before) if before else None,
        "projected": total * 30 * (DAY // MICROSECOND) / (elapsed // MICROSECOND),
        "series": sorted(series.items()),
        "tiers": dict(tiers),
        "orgs": sorted(orgs.items(), key=lambda one: (-one[1], one[0]))[:10],
        "items": sorted(items.items(), key=lambda one: (-one[1], one[0]))[:10],
        "booked": sorted(booked.items()),
        "unconverted": sorted(unconverted.items()),
    }


def number(value, places):
    return None if value is None else Decimal(str(round(Fraction(value) * 10**places))).scaleb(-places)


def shown(figures, currency):
    """Return the figures as sent, each rounded half to even."""
    places = PLACES[currency]

    def money(value):
        return number(value, places)

    return {
        "summary": {
            "total": money(figures["total"]),
            "currency": currency,
            "changePercent": number(figures["change"], 2),
            "projectedMonthly": money(figures["projected"]),
        },
        "timeSeries": [{"date": str(day), "revenue": money(value)} for day, value in figures["series"]],
        "byLicenseType": {tier: money(value) for tier, value in figures["tiers"].items()},
        "byRequester": [{"id": id_, "name": None, "revenue": money(value)} for id_, value in figures["orgs"]],
        "byContent": [{"id": id_, "revenue": money(value)} for id_, value in figures["items"]],
        "byCurrency": [{"currency": code, "amount": number(value, 6)} for code, value in figures["booked"]],
        "unconverted": [
            {"currency": code, "amount": number(sum(amounts), 6), "entries": len(amounts)}
            for code, amounts in figures["unconverted"]
        ],
    }


def exact(text):
    return json.loads(text, parse_float=Decimal, parse_int=Decimal)


def compare(account, world, query, start, end, group, currency):
    window = windows.REVENUE.parse(query, NOW, lambda: None)
    figures = expected(world, start, end, group, currency)
    report = revenue_report([account.pk], window, currency, NOW)
    sent = exact(render_json(present(report, window)))
    for item in sent["byContent"]:
        assert item.pop("title") == world.titles[item["id"]]
    assert sent == shown(figures, currency)
