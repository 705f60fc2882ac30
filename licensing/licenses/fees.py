"""Recurring fees of licences, charged in advance at the start of each period.

Periods are counted from `starts_at` in months on the wall clock of the account's time zone. `next_fee_at` is the start
of the next period to charge, null if there is none; `fee_months` is how many months after `starts_at` it begins. Fees
are booked under the account's lock, with an id that derives from the licence and the period: each period is charged
once, whichever processes and clocks take part.
"""

from collections.abc import Iterable
from copy import copy
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from django.db import transaction

from accounts.models import Account
from accounts.plans import epochs
from analytics.ledger.due import FAILURES as DATABASE_FAILURES
from analytics.ledger.due import Failures, store_due
from analytics.ledger.entries import add_entries
from analytics.models import EntryType, LedgerEntry
from kit.http.errors import ValidationFailed
from kit.storage.reading import stored_now
from kit.storage.sqlite_turns import turn_to_write
from kit.values import ids
from kit.values.calendar import add_months, months_until, zone_named
from licensing.licenses.models import FeeEvery, License, LicenseStatus

MONTHS = {FeeEvery.MONTH: 1, FeeEvery.QUARTER: 3, FeeEvery.YEAR: 12}
FAILURES = (*DATABASE_FAILURES, ValidationFailed)  # of a licence, such as totals that cannot hold its fee
MICROSECOND = timedelta(microseconds=1)
BATCH_LICENSES = 200  # licences of a transaction


class Schedule(NamedTuple):
    """The terms of a licence that decide when its fees are due."""

    starts_at: datetime
    has_fee: bool
    paid_until: datetime | None  # the end of the last charged period

    @classmethod
    def from_license(cls, license_: License) -> "Schedule":
        paid_until = period_start(license_, license_.fee_months) if license_.fee_months else None
        return cls(license_.starts_at, license_.fee_amount is not None, paid_until)


def period_start(license_: License, months: int) -> datetime:
    """Return the start of the period that many months after the licence's start.

    The start's wall clock is read in the time zone that counted then; the result is that wall clock's time in the
    account's present one.
    """
    if not months:
        return license_.starts_at
    return add_months(license_.starts_at, months, zone_named(license_.fee_zone), license_.account.zone)


def schedule_fee(license_: License, former: Schedule | None, now: datetime) -> None:
    """Set when the next fee is due, after a licence is issued, or its terms changed from `former`.

    Charged periods are never charged again. A fee that a licence gets later begins with its next period.
    """
    if license_.fee_amount is None:
        license_.next_fee_at = None
        return
    if former is None or former.starts_at != license_.starts_at or not license_.fee_months:
        license_.fee_zone = license_.account.time_zone
    if former is not None and former.starts_at != license_.starts_at:
        zone = license_.account.zone
        license_.fee_months = months_until(license_.starts_at, former.paid_until, zone) if former.paid_until else 0
    if former is not None and not former.has_fee:
        while period_start(license_, license_.fee_months) <= now:
            license_.fee_months += months_of_period(license_)
    set_next(license_)


def set_next(license_: License) -> None:
    """Set `next_fee_at` from `fee_months`: null if the licence ends before."""
    begin = period_start(license_, license_.fee_months)
    has_ended = license_.status == LicenseStatus.REVOKED or (
        license_.expires_at is not None and begin >= license_.expires_at
    )
    license_.next_fee_at = None if has_ended else begin


def months_of_period(license_: License) -> int:
    return MONTHS[FeeEvery(license_.fee_every or "")]


def take_due_fees(license_: License, now: datetime) -> list[LedgerEntry]:
    """Build the entries of all fees that are due, and move the licence on to its next period. Nothing is stored.

    An entry is dated at the start of its period. It is recorded then, too, in the month's statement, unless the terms
    that made it due are later. Call it while holding the account.
    """
    entries = []
    while license_.next_fee_at is not None and license_.next_fee_at <= now:
        begin = license_.next_fee_at
        license_.fee_months += months_of_period(license_)
        set_next(license_)
        entries.append(
            LedgerEntry(
                id=fee_id(license_.pk, begin),
                account_id=license_.account_id,
                type=EntryType.FEE,
                amount=license_.fee_amount or Decimal(0),
                currency=license_.fee_currency or "",
                occurred_at=begin,
                description=period_in_words(license_, begin),
                license_id=license_.pk,
                license_type=license_.license_type,
                requester_id=license_.requester_id,
                created=max(begin, license_.updated),
            )
        )
    return entries


def period_in_words(license_: License, begin: datetime) -> str:
    """Return the days of the period that begins then, up to the day before the next one, or to the licence's last."""
    zone = license_.account.zone
    first = begin.astimezone(zone).date()
    last = period_start(license_, license_.fee_months).astimezone(zone).date() - timedelta(days=1)
    if license_.expires_at is not None:
        last = min(last, (license_.expires_at - MICROSECOND).astimezone(zone).date())
    return f"{first} to {max(first, last)}"


def short_period(license_: License) -> str | None:
    """Return the days of the last period, which is charged in full, if the licence ends before it; otherwise None."""
    if license_.fee_amount is None or license_.expires_at is None:
        return None
    step = months_of_period(license_)
    first = license_.fee_months % step  # a fee that came later begins with its own period
    months = months_until(license_.starts_at, license_.expires_at, license_.account.zone) - first
    last = copy(license_)
    last.fee_months = first + max(-(-months // step), 1) * step
    if period_start(last, last.fee_months) <= license_.expires_at:
        return None
    return period_in_words(last, period_start(last, last.fee_months - step))


def fee_id(license_id: str, begin: datetime) -> str:
    """Return the id of the fee of a licence's period. It sorts by time, as other ids do."""
    digest = bytearray(sha256(f"{license_id} {begin.timestamp()}".encode()).digest()[:10])
    digest[0] = digest[0] & 0x0F | 0x70  # version 7
    digest[2] = digest[2] & 0x3F | 0x80  # variant
    return ids.encode("led", int(begin.timestamp() * 1000).to_bytes(6) + bytes(digest))


# --- Booking ---------------------------------------------------------------------------------------------------------


def book_due_fees(account_id: str | None, until: datetime) -> tuple[int, Failures]:
    """Book the fees that are due at a moment, of one account or of all; return how many, and the failures.

    Where the licences of an account fail together, those that can be booked alone are.
    """
    due = License.objects.filter(next_fee_at__lte=until)
    if account_id is not None:
        due = due.filter(account_id=account_id)
    booked = 0
    failed = Failures()
    for owner in list(due.order_by().values_list("account_id", flat=True).distinct()):
        licenses = due.filter(account_id=owner).only("account_id").order_by("pk")
        count, failures = store_due(licenses, partial(book_fees, owner, until), BATCH_LICENSES, FAILURES)
        booked += count
        failed |= failures
    return booked, failed


def book_fees(account_id: str, until: datetime, due: Iterable[License]) -> int:
    """Book the fees of an account's licences that are due at a moment, in one transaction; return how many."""
    with turn_to_write(), transaction.atomic():
        epochs.lock_epoch(account_id)
        licenses = list(
            License.objects.filter(pk__in=[license_.pk for license_ in due], next_fee_at__lte=until)
            .select_related("account")
            .select_for_update(of=("self",))
            .order_by("pk")
        )
        entries = [entry for license_ in licenses for entry in take_due_fees(license_, until)]
        License.objects.bulk_update(licenses, ["fee_months", "next_fee_at"])
        if entries:
            add_entries(entries)
        return len(entries)


def move_fees_to_zone(account: Account, **signal: object) -> None:
    """Move the fees that are due later to the account's new time zone, after `now`. Call it while holding the account.

    A fee that is due already keeps its moment.
    """
    now = stored_now()
    later = License.objects.filter(account=account, next_fee_at__gt=now)
    licenses = list(later.select_for_update(of=("self",)).order_by("pk"))
    for license_ in licenses:
        license_.account = account
        set_next(license_)
        if license_.next_fee_at is not None:
            license_.next_fee_at = max(license_.next_fee_at, now)
    License.objects.bulk_update(licenses, ["next_fee_at"], batch_size=BATCH_LICENSES)
