import os
import random
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import DatabaseError, connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analytics.events.partitions import month_after, month_start
from analytics.ledger.due import book_regularly
from analytics.ledger.entries import add_entries
from analytics.models import (
    AccessEvent,
    ClosedLine,
    ClosedStatement,
    Grant,
    LedgerEntry,
    Statement,
    StatementLine,
    Wallet,
)
from analytics.models.statements import requester_of
from analytics.statements.checking import find_differences
from analytics.statements.closing import close_due
from kit.values import ids
from licensing.account_deletion import delete_account
from tests import factories, ledger
from tests.clock import clock  # noqa: F401 - a fixture
from tests.examples import examples
from tests.lock_waits import at_once, late_copy

# A thousand and more take minutes: STATEMENT_HISTORIES=2000.
HISTORIES = int(os.environ.get("STATEMENT_HISTORIES") or examples(75))
BEGIN = datetime(2025, 11, 7, tzinfo=UTC)
EDGES = [datetime(2026, month, 1, tzinfo=UTC) + timedelta(microseconds=n) for month in (1, 2, 3) for n in (-1, 0, 1)]


class World:
    """Entries of two accounts, made up by a random generator, booked one after the other with closings in between.

    Refunds and other corrections are booked up to 400 days after what they are about, so in months after closed ones.
    """

    def __init__(self, seed, size):
        self.chance = random.Random(seed)
        self.accounts = [factories.account(), factories.account(name="Other")]
        self.orgs = {one.pk: [None, *(ledger.requester(one, f"org {n}") for n in range(3))] for one in self.accounts}
        self.items = {one.pk: [None, factories.content(one), factories.content(one)] for one in self.accounts}
        self.licenses = [None, ids.new_id("lic"), ids.new_id("lic")]
        self.closed = {}
        moments = sorted(self.moment() for _ in range(size))
        for moment in moments:
            if self.chance.random() < 0.1:
                close_due(moment)
                self.check_closed_stay()
            add_entries([self.entry(moment)])

    def moment(self):
        if self.chance.random() < 0.3:
            return self.chance.choice(EDGES)
        return BEGIN + timedelta(seconds=self.chance.random() * 130 * 86_400)

    def entry(self, booked):
        account, kind = (
            self.chance.choice(self.accounts),
            self.chance.choice(["usage", "usage", "license", "fee", "adjustment"]),
        )
        digits = self.chance.choice([1, 333_333, self.chance.randint(-(10**12), 10**13)])
        digits = abs(digits) if kind in ("usage", "fee") else digits
        late = timedelta(days=self.chance.choice([0, 0, 1, 40, 400]))
        return LedgerEntry(
            account=account,
            type=kind,
            amount=Decimal(digits).scaleb(-6),
            currency=self.chance.choice(["EUR", "USD", "JPY"]),
            occurred_at=booked if kind == "usage" else booked - late,
            license_id=self.chance.choice(self.licenses),
            license_type=self.chance.choice([None, "commercial", "Ä"]),
            content=self.chance.choice(self.items[account.pk]),
            requester=self.chance.choice(self.orgs[account.pk]),
            description=None if kind == "usage" else "why",
            created=booked,
        )

    def check_closed_stay(self):
        now = {one["id"]: one for one in Statement.objects.filter(closed_at__isnull=False).values()}
        assert {pk: now[pk] for pk in self.closed} == self.closed
        self.closed = now


def expected(entries):
    """Compute the total, the refunds, the number of decisions and the lines of each statement."""
    of = defaultdict(
        lambda: {"total": Decimal(0), "refunds": Decimal(0), "decisions": 0, "lines": defaultdict(Decimal)}
    )
    for entry in entries:
        month = entry.created.date().replace(day=1)
        one = of[entry.account_id, entry.requester_id, month, entry.currency]
        is_usage = entry.type == "usage"
        one["total"] += entry.amount
        one["refunds"] += max(-entry.amount, 0) if entry.type == "adjustment" else 0
        one["decisions"] += is_usage
        by = (entry.license_id, entry.license_type, entry.content_id) if is_usage else entry.pk
        one["lines"][entry.type, by] += entry.amount
    return of


def check_against_ledger():
    wanted = expected(LedgerEntry.objects.order_by("created", "pk"))
    balances = defaultdict(Decimal)
    lines = defaultdict(dict)
    for line in StatementLine.objects.all():
        by = (line.license_id, line.license_type, line.content_id) if line.type == "usage" else line.pk
        of = lines[line.account_id, line.requester_id, line.month, line.currency]
        assert (line.type, by) not in of
        of[line.type, by] = line.amount
    for one in Statement.objects.order_by("month"):
        key = (one.account_id, one.requester_id, one.month, one.currency)
        should = wanted.pop(key)
        holder = (one.account_id, one.requester_id, one.currency)
        assert one.pk == ledger.statement_id(*key)
        assert requester_of(one.pk) == one.requester_id
        assert (one.total, one.decisions, one.lines) == (should["total"], should["decisions"], len(should["lines"]))
        assert one.licenses + (one.fees or 0) + one.usage + one.adjustments == one.total
        assert one.refunds == should["refunds"]
        assert (one.opening, one.closing) == (balances[holder], balances[holder] + one.total)
        balances[holder] = one.closing
        assert lines.pop(key) == should["lines"]
    assert not wanted
    assert not lines
    assert find_differences(["statements", "lines"]) == []


@pytest.mark.slow
@pytest.mark.parametrize("size", [40])
@settings(max_examples=HISTORIES, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_statements_equal_the_ledger_for_every_requester_month_and_currency(db, size, seed):
    with transaction.atomic():
        world = World(seed, size)
        check_against_ledger()
        close_due(datetime(2026, 2, 14, tzinfo=UTC))
        world.check_closed_stay()
        check_against_ledger()
        close_due(datetime(2026, 5, 1, 1, tzinfo=UTC))
        world.check_closed_stay()
        check_against_ledger()
        assert not Statement.objects.filter(closed_at=None).exists()
        transaction.set_rollback(True)


def test_a_month_is_closed_an_hour_after_its_end(account):
    ledger.add(account, created=datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC))
    for now, closed in [("00:59:59", 0), ("01:00:00", 1), ("01:00:00", 0)]:
        assert close_due(datetime.fromisoformat(f"2026-02-01T{now}Z")) == closed
    assert ClosedStatement.objects.count() == 1


def test_a_charge_belongs_to_the_month_of_its_decision_also_when_that_was_purged(api, account, clock):  # noqa: F811
    clock.set("2026-01-31T23:59:59.999999Z")
    item = factories.content(account, policy_id=factories.policy(account).pk)
    factories.license(account, per_access="0.05")
    for _ in range(3):
        api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    clock.set("2026-02-01T00:00:00Z")
    api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_acme"})
    before = list(Statement.objects.order_by("month").values())
    figures = [(one["month"].month, one["usage"], one["decisions"]) for one in before]
    assert figures == [(1, Decimal("0.15"), 3), (2, Decimal("0.05"), 1)]
    AccessEvent.objects.all().delete()  # as a purge does, which on PostgreSQL drops whole partitions
    assert list(Statement.objects.order_by("month").values()) == before


def test_months_without_entries_are_passed_over(account):
    ledger.add(account, "1", created=datetime(2025, 11, 5, tzinfo=UTC))
    assert close_due(datetime(2026, 2, 5, tzinfo=UTC)) == 3
    ledger.add(account, "2", created=datetime(2026, 2, 5, tzinfo=UTC))
    assert [(one.opening, one.closing) for one in Statement.objects.order_by("month")] == [(0, 1), (1, 3)]


@pytest.mark.django_db(transaction=True)
def test_of_closings_at_the_same_moment_each_month_is_closed_once():
    account = factories.account()
    for month in (1, 2, 3, 4):
        ledger.add(account, created=datetime(2026, month, 5, tzinfo=UTC))
    assert sum(at_once(*[lambda: close_due(datetime(2026, 5, 2, tzinfo=UTC))] * 4)) == 4
    assert (ClosedStatement.objects.count(), ClosedLine.objects.count()) == (4, 4)
    assert find_differences(["statements", "lines"]) == []


@pytest.mark.parametrize("model", [ClosedStatement, ClosedLine])
@pytest.mark.parametrize(
    "change", [lambda rows: rows.update(currency="EUR"), lambda rows: rows._raw_delete("default")]
)
def test_the_database_keeps_closed_months_as_they_are(account, model, change):
    ledger.add(account, created=datetime(2026, 1, 5, tzinfo=UTC))
    close_due(datetime(2026, 2, 5, tzinfo=UTC))
    with pytest.raises(DatabaseError, match="a closed month never changes"), transaction.atomic():
        change(model.objects.all())


def test_a_demo_goes_with_its_statements(db):
    account = factories.account(is_demo=True)
    ledger.add(account, created=datetime(2026, 1, 5, tzinfo=UTC))
    close_due(datetime(2026, 2, 5, tzinfo=UTC))
    delete_account(account)
    assert (Statement.objects.count(), ClosedLine.objects.count()) == (0, 0)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's commits wait for nothing")
@pytest.mark.django_db(transaction=True)
def test_a_month_closes_after_commits_that_come_hours_late(monkeypatch):
    account, now = factories.account(), datetime.now(UTC)
    one = {"account": account, "amount": Decimal(1), "currency": "EUR"}
    add_entries([LedgerEntry(**one, type="adjustment", occurred_at=now, created=now)])
    end = month_after(month_start(now))
    for its_clock in ("kit.storage.reading.database_time", "django.utils.timezone.now"):
        monkeypatch.setattr(its_clock, lambda: end + timedelta(hours=5))
    with late_copy(LedgerEntry.objects.get()) as session:
        assert close_due(end + timedelta(hours=5)) == 0
        session.commit()
    assert close_due(end + timedelta(hours=5)) == 1
    assert (ClosedStatement.objects.count(), ClosedLine.objects.count()) == (1, 2)
    assert find_differences(["statements", "lines"]) == []


@pytest.mark.skipif(connection.vendor != "postgresql", reason="on SQLite all processes have one clock")
def test_a_machine_whose_clock_is_ahead_closes_no_month_before_its_end(account):
    now = datetime.now(UTC)
    one = {"account": account, "amount": Decimal(1), "currency": "EUR"}
    add_entries([LedgerEntry(**one, type="adjustment", occurred_at=now, created=now)])
    assert close_due(month_after(month_start(now)) + timedelta(hours=5)) == 0


def test_amounts_beyond_the_database_keep_no_other_account_from_refills_and_closed_months(
    account,
    other_account,
    clock,  # noqa: F811
):
    refill = {"amount": Decimal(1), "every": "month"}
    stuck, other = (factories.wallet(owner, refill=refill)["wallet"] for owner in (account, other_account))
    Wallet.objects.filter(pk=stuck).update(balance=Decimal(9 * 10**12), refill_amount=Decimal(9 * 10**12))
    clock.advance(days=62)
    for work in (book_regularly, close_due):
        with pytest.raises((DatabaseError, OverflowError)):
            work()
    assert Grant.objects.filter(wallet=other, kind="refill").count() == 3
    assert ClosedStatement.objects.filter(account=other_account).count() == 2
    assert not ClosedStatement.objects.filter(account=account).exists()
