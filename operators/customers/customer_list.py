"""The licences, amounts and next fees of customers, for their list and pages, and the list's order and filters."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.expressions import RawSQL
from django.http import HttpRequest
from django.utils import timezone
from msgspec import Struct, field

from analytics.ledger.due import book_due
from analytics.models import AccessEvent, BalanceChange, Payment
from analytics.payments.models import PaymentKind
from analytics.rates.conversion import EURO, Rates
from analytics.wallets.models import Grant, Wallet
from analytics.wallets.units import in_units
from kit.storage.by_database import by_database
from kit.values.amounts import render_amount
from kit.values.currencies import in_full
from kit.values.timestamps import render_timestamp
from licensing.licenses.models import License, LicenseStatus
from licensing.requesters.models import Requester
from operators.base.fields import editable_amount
from operators.base.figures.terms import fee_text
from operators.base.filters import OptionsFilter
from operators.base.lists import BoundedChangeList, BoundedPaginator
from operators.base.mixins import AdminMixin
from operators.base.scope import request_scope
from operators.base.times import shown_time, time_in_words

MAX_FEES = 5  # shown, the nearest first


def money_facts(requester: Requester, now: datetime) -> dict[str, str]:
    """Return what is owed, the last payment and the fees to come, as facts of the page."""
    book_due(requester.account_id)
    shown = {"Owes": owed(requester), "Last payment": last_payment(requester), "Fees to come": coming_fees(requester)}
    if requester.wallets:
        shown["Credit ends or is refilled"] = credit_end(requester, now)
    return shown


def sums_of(changes: QuerySet[BalanceChange]) -> QuerySet[Any, Any]:
    """Return `debt`, `earned` and `credit_left` of each customer in each currency."""
    groups = changes.filter(requester__isnull=False).order_by().values("requester_id", "currency")
    return groups.annotate(debt=Sum("owed"), earned=Sum("revenue"), credit_left=Sum("credit"))


def open_balances(requester: Requester) -> list[tuple[str, Decimal]]:
    """Return what is owed in each currency, where it is not 0."""
    sums = sums_of(BalanceChange.objects.filter(account=requester.account_id, requester=requester))
    return list(sums.exclude(debt=0).order_by("currency").values_list("currency", "debt"))


def owed(requester: Requester) -> str:
    return ", ".join(balance_in_words(closing, code) for code, closing in open_balances(requester)) or "nothing"


def balance_in_words(closing: Decimal, currency: str) -> str:
    """Return what is owed, or what was paid in advance if the balance is negative."""
    if closing < 0:
        return f"{in_full(-closing, currency)} paid in advance"
    return in_full(closing, currency)


def owed_fields(requester: Requester) -> dict[str, str]:
    """Return initial values of a payment's form: what is owed, if it is in one currency.

    If nothing is owed, the currency is the one in which it was paid in advance, or the account's.
    """
    balances = open_balances(requester)
    debts = [(code, closing) for code, closing in balances if closing > 0]
    if not debts:
        return {"currency": balances[0][0] if len(balances) == 1 else requester.account.currency}
    if len(debts) > 1:
        return {}
    [(code, closing)] = debts
    return {"amount": editable_amount(closing), "currency": code}


def obligations(requester: Requester, now: datetime) -> list[tuple[str, str]]:
    """Return the open balance and the number of running licences, without those that there are not."""
    running = License.objects.filter(requester=requester, status=LicenseStatus.ACTIVE)
    running_count = running.exclude(expires_at__lte=now).count()
    balance = owed(requester) if open_balances(requester) else ""
    facts = [("Owes", balance), ("Running licences", f"{running_count:,}" if running_count else "")]
    return [(name, value) for name, value in facts if value]


def credit_end(requester: Requester, now: datetime) -> str:
    """Return when credit of the customer's wallets ends next, or is refilled."""
    wallets = Wallet.objects.filter(requester=requester)
    grants = Grant.objects.filter(wallet__in=wallets, ended_at__isnull=True, remaining__gt=0, expires_at__gt=now)
    refills = wallets.filter(next_refill_at__gt=now).values_list("next_refill_at", flat=True)
    ends = [moment for moment in [*refills, *grants.values_list("expires_at", flat=True)] if moment is not None]
    return f"on {time_in_words(min(ends))}" if ends else "never"


def last_payment(requester: Requester) -> str:
    payments = Payment.objects.filter(requester=requester, kind=PaymentKind.PAYMENT, reverses=None, voided_at=None)
    payment = payments.order_by("-received_at", "-pk").first()
    if payment is None:
        return "none"
    return f"{in_full(payment.amount, payment.currency)} on {time_in_words(payment.received_at)}"


def coming_fees(requester: Requester) -> str:
    """Return the next fee of each licence, the nearest first."""
    licenses = License.objects.filter(requester=requester, next_fee_at__isnull=False).order_by("next_fee_at", "pk")
    shown = [
        f"{fee_text(held)}, next on {time_in_words(held.next_fee_at)}"
        for held in licenses[: MAX_FEES + 1]
        if held.next_fee_at is not None
    ]
    if len(shown) > MAX_FEES:
        shown[MAX_FEES:] = ["and further ones"]
    return "; ".join(shown) or "none"


FIGURES_ATTRIBUTE = "list_figures"  # the attribute of a listed customer
MAX_TYPES = 3  # licence types to name
AMOUNT_COLUMNS = ("debt", "earned", "credit_left")  # columns to sort by


class ListFigures(Struct):
    """A customer's figures in the list."""

    licence_types: set[str] = field(default_factory=set)
    sums: list[dict[str, Any]] = field(default_factory=list)  # by currency (`sums_of`)
    last_access: datetime | None = None

    def licences_in_words(self) -> str | None:
        named = ", ".join(sorted(self.licence_types)[:MAX_TYPES])
        more = len(self.licence_types) - MAX_TYPES
        return f"{named} and {more} more" if more > 0 else named or None

    def amounts_in_words(self, name: str) -> str | None:
        in_words = balance_in_words if name == "debt" else in_units
        return ", ".join(in_words(one[name], one["currency"]) for one in self.sums if one[name]) or None

    def exported_rows(self) -> list[dict[str, object]]:
        """Return a row for each currency, or one without amounts."""
        shared = {"licences": ", ".join(sorted(self.licence_types)), "last_seen": render_timestamp(self.last_access)}
        amounts = [
            {
                "currency": one["currency"],
                "owes": render_amount(one["debt"]),
                "revenue": render_amount(one["earned"]),
                "credit": render_amount(one["credit_left"]),
            }
            for one in self.sums
        ]
        return [{**shared, **one} for one in amounts or [{}]]

    def access_in_words(self) -> str | None:
        return None if self.last_access is None else shown_time(self.last_access)


class CustomerChangeList(BoundedChangeList):
    """Fills in the figures of the listed customers, and can sort by amounts, which are not columns of their table."""

    result_list: Iterable[Requester]
    by_amount = ""  # one of AMOUNT_COLUMNS, after "-" if descending

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Requester]) -> list[str]:
        ordering: list[str] = super().get_ordering(request, queryset)
        amounts = [name for name in ordering if name.removeprefix("-") in AMOUNT_COLUMNS]
        self.by_amount = amounts[0] if amounts else ""
        return [name for name in ordering if name not in amounts]

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        changes = request_scope(request).narrow(BalanceChange.objects.all())
        # Read once, if at all: the order and the total share it.
        self.sums = sums_of(changes.filter(requester__in=self.queryset.order_by().values("pk")))
        rows = self.sorted_page() if self.by_amount and not self.unsorted else list(self.result_list)
        figures = list_figures([requester.pk for requester in rows])
        for requester in rows:
            setattr(requester, FIGURES_ATTRIBUTE, figures[requester.pk])
        self.result_list = rows

    def sorted_page(self) -> list[Requester]:
        """Return the page's customers, sorted by an amount."""
        amounts = comparable_amounts(self.sums, self.by_amount)
        numbers = list(self.queryset.values_list("pk", flat=True))
        numbers.sort(key=lambda number: amounts.get(number, Decimal(0)), reverse=self.by_amount.startswith("-"))
        if not self.show_all:
            numbers = numbers[(self.page_num - 1) * self.list_per_page : self.page_num * self.list_per_page]
        requesters: dict[int, Requester] = self.queryset.in_bulk(numbers)
        return [requesters[number] for number in numbers if number in requesters]

    def total_balances(self) -> list[str] | None:
        """Return what all these customers owe, and what they paid in advance; None if they are too many."""
        if self.paginator.has_more:
            return None
        balances: defaultdict[tuple[bool, str], Decimal] = defaultdict(Decimal)
        for row in self.sums:
            balances[row["debt"] < 0, row["currency"]] += row["debt"]
        return [balance_in_words(sum_, currency) for (_, currency), sum_ in sorted(balances.items()) if sum_]


def comparable_amounts(sums: Iterable[Mapping[str, Any]], name: str) -> dict[int, Decimal]:
    """Return an amount of each customer in euros, at today's rates. Currencies without a rate count as they are."""
    today = timezone.now().date()
    rates = Rates.load({row["currency"] for row in sums}, today, today)
    amounts: defaultdict[int, Decimal] = defaultdict(Decimal)
    for row in sums:
        amount = row[name.removeprefix("-")]
        converted = rates.convert(amount, row["currency"], EURO, today)
        amounts[row["requester_id"]] += amount if converted is None else converted
    return amounts


def list_figures(numbers: Sequence[int]) -> dict[int, ListFigures]:
    """Return the figures of customers, in three queries."""
    figures = {number: ListFigures() for number in numbers}
    running = License.objects.filter(requester__in=numbers, status=LicenseStatus.ACTIVE)
    running = running.exclude(expires_at__lte=timezone.now())
    for number, license_type in running.order_by().values_list("requester_id", "license_type").distinct():
        figures[number].licence_types.add(license_type)
    for row in sums_of(BalanceChange.objects.filter(requester__in=numbers)).order_by("currency"):
        figures[row["requester_id"]].sums.append(row)
    newest = AccessEvent.objects.filter(requester=OuterRef("pk")).order_by("-created").values("created")[:1]
    present = Requester.objects.filter(Q(pk__in=numbers) | Q(merged_into__in=numbers))
    seen = present.annotate(last_access=Subquery(newest)).exclude(last_access=None).order_by("last_access")
    for number, target, last_access in seen.values_list("pk", "merged_into", "last_access"):
        for holder in (number, target):
            if holder in figures:
                figures[holder].last_access = last_access
    return figures


class KindFilter(OptionsFilter[Requester]):
    title = "kind"
    parameter_name = "kind"
    options = {
        "customers": "customers: with a name, a licence or a wallet",
        "crawlers": "crawlers",
        "others": "others who only asked",
        "merged": "merged into another one",
        "erased": "erased persons",
    }

    def apply_option(self, queryset: QuerySet[Requester], value: str) -> QuerySet[Requester]:
        if value == "merged":
            return queryset.filter(merged_into__isnull=False)
        if value == "erased":
            return queryset.filter(is_erased=True)
        present = queryset.filter(merged_into=None, is_erased=False)
        crawlers = Q(requester_id__startswith="crawler:")
        if value == "crawlers":
            return present.filter(crawlers)
        held = Q(licenses_revision__isnull=False) | Q(wallets__isnull=False)
        named = held | (Q(name__isnull=False) & ~crawlers)
        return present.filter(named) if value == "customers" else present.exclude(crawlers).exclude(named)


class BalanceFilter(OptionsFilter[Requester]):
    """Filters by what is owed, in any currency."""

    title = "balance"
    parameter_name = "balance"
    options = {"owes": "owes money", "advance": "paid in advance"}

    def lookups(self, request: HttpRequest, model_admin: AdminMixin[Requester]) -> list[tuple[str, str]]:
        """Offer nothing to operators who may not see statements: Django then ignores the filter."""
        may_see = request.user.has_perm("analytics.view_statement")
        return super().lookups(request, model_admin) if may_see else []

    def apply_option(self, queryset: QuerySet[Requester], value: str) -> QuerySet[Requester]:
        sums = sums_of(request_scope(self.request).narrow(BalanceChange.objects.all()))
        matching = sums.filter(debt__gt=0) if value == "owes" else sums.filter(debt__lt=0)
        debtors = matching.values_list("requester_id", flat=True)
        known = list(debtors[: BoundedPaginator.MAX_COUNT + 1])  # added up once, although the list is counted and read
        return queryset.filter(pk__in=debtors if len(known) > BoundedPaginator.MAX_COUNT else in_array(known))


def in_array(numbers: Sequence[int]) -> RawSQL:
    """Return numbers for a lookup `__in` as a single parameter. Thousands of parameters are slow."""
    return by_database(
        postgresql=RawSQL("SELECT unnest(%s::bigint[])", (list(numbers),)),
        sqlite=RawSQL("SELECT value FROM json_each(%s)", (json.dumps(numbers),)),
    )
