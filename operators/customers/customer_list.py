"""The list of customers: its figures, order and filters."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, ClassVar

from django.contrib.admin.views.main import ORDER_VAR
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.utils import timezone
from msgspec import Struct, field
from unfold.contrib.filters.admin import TextFilter

from analytics.models import AccessEvent, BalanceChange
from analytics.rates.conversion import EURO, Rates
from analytics.wallets.units import in_units
from kit.values.decimals import render_amount
from kit.values.timestamps import render_timestamp
from licensing.licenses.models import License
from licensing.licenses.services import active_licenses
from licensing.requesters.models import Requester
from operators.base.filters import OptionsFilter, as_unit
from operators.base.lists.change_list import BoundedChangeList, BoundedPaginator
from operators.base.mixins import AdminMixin
from operators.base.scope import request_scope
from operators.base.searching import in_array
from operators.base.times import shown_time
from operators.customers.balances import balance_in_words, beyond_credit, sums_of

FIGURES_ATTRIBUTE = "list_figures"  # the attribute of a listed customer
MAX_TYPES = 3  # licence types to name
NO_RATES = "Without exchange rates of {}, their amounts are compared as numbers: filter by a currency."
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
    order_note = ""  # what the order by an amount does not compare

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Requester]) -> list[str]:
        ordering: list[str] = super().get_ordering(request, queryset)
        amounts = [name for name in ordering if name.removeprefix("-") in AMOUNT_COLUMNS]
        if ORDER_VAR not in request.GET and "owes" in self.list_display:
            amounts = BalanceFilter.orders.get(request.GET.get(BalanceFilter.parameter_name, ""), [])
        self.by_amount = amounts[0] if amounts else ""
        return [name for name in ordering if name not in amounts]

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        # Read once, if at all: the order and the total share it.
        self.sums = sums_of(chosen_changes(request).filter(requester__in=self.queryset.order_by().values("pk")))
        rows = self.sorted_page() if self.by_amount and not self.unsorted else list(self.result_list)
        figures = list_figures([requester.pk for requester in rows])
        for requester in rows:
            setattr(requester, FIGURES_ATTRIBUTE, figures[requester.pk])
        self.result_list = rows

    @property
    def is_to_be_sorted(self) -> bool:
        return bool(self.by_amount) or super().is_to_be_sorted

    def sorted_keys(self) -> list[int]:
        """Return the numbers of all customers in the order of the list."""
        numbers = list(self.queryset.values_list("pk", flat=True))
        if self.by_amount:
            amounts, unconverted = comparable_amounts(self.sums, self.by_amount.removeprefix("-"))
            if unconverted:
                self.order_note = NO_RATES.format(", ".join(unconverted))
            numbers.sort(key=lambda number: amounts.get(number, Decimal(0)), reverse=self.by_amount.startswith("-"))
        return numbers

    def sorted_page(self) -> list[Requester]:
        """Return the page's customers, sorted by an amount."""
        numbers = self.sorted_keys()
        if not self.show_all:
            numbers = numbers[(self.page_num - 1) * self.list_per_page : self.page_num * self.list_per_page]
        requesters: dict[int, Requester] = self.queryset.in_bulk(numbers)
        return [requesters[number] for number in numbers if number in requesters]


def chosen_changes(request: HttpRequest) -> QuerySet[BalanceChange]:
    """Return the changes of balances that the operator may see, in the currency that the list is filtered by."""
    changes = request_scope(request).narrow(BalanceChange.objects.all())
    currency = as_unit(request.GET.get(CurrencyFilter.parameter_name))
    return changes.filter(currency=currency) if currency else changes


def comparable_amounts(sums: Iterable[Mapping[str, Any]], name: str) -> tuple[dict[int, Decimal], list[str]]:
    """Return an amount of each customer in euros, at today's rates, and the currencies without a rate.

    Their amounts count as they are. A single currency needs no rate.
    """
    today = timezone.now().date()
    currencies = {row["currency"] for row in sums if row[name]}
    rates = Rates.load(currencies, today, today)
    amounts: defaultdict[int, Decimal] = defaultdict(Decimal)
    for row in sums:
        converted = rates.convert(row[name], row["currency"], EURO, today)
        amounts[row["requester_id"]] += row[name] if converted is None else converted
    unconverted = [currency for currency in sorted(currencies) if rates.get_rate(currency, today) is None]
    return amounts, unconverted if len(currencies) > 1 else []


def list_figures(numbers: Sequence[int]) -> dict[int, ListFigures]:
    """Return the figures of customers, in three queries."""
    figures = {number: ListFigures() for number in numbers}
    running = active_licenses(License.objects.filter(requester__in=numbers), timezone.now())
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
    """Filters by what is owed, in the chosen currency or in any."""

    title = "balance"
    parameter_name = "balance"
    options = {"owes": "owes money", "advance": "paid in advance", "beyond": "paid in advance beyond its credit"}
    orders: ClassVar[dict[str, list[str]]] = {  # the largest balance first
        "owes": ["-debt"],
        "advance": ["debt"],
        "beyond": ["debt"],
    }

    def lookups(self, request: HttpRequest, model_admin: AdminMixin[Requester]) -> list[tuple[str, str]]:
        """Offer nothing to operators who may not see statements: Django then ignores the filter."""
        may_see = request.user.has_perm("analytics.view_statement")
        return super().lookups(request, model_admin) if may_see else []

    def apply_option(self, queryset: QuerySet[Requester], value: str) -> QuerySet[Requester]:
        sums = sums_of(chosen_changes(self.request))
        if value == "beyond":
            return with_sums(queryset, beyond_credit(sums))
        return with_sums(queryset, sums.filter(debt__gt=0) if value == "owes" else sums.filter(debt__lt=0))


class CurrencyFilter(TextFilter):
    """Lists the customers with entries in a currency. Totals and the order by amounts count only that currency."""

    title = parameter_name = "currency"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Requester]) -> QuerySet[Requester]:
        is_narrower = request.GET.get(BalanceFilter.parameter_name) in BalanceFilter.options  # in the currency
        if not self.value() or is_narrower or not request.user.has_perm("analytics.view_statement"):
            return queryset
        return with_sums(queryset, sums_of(chosen_changes(request)))


def with_sums(queryset: QuerySet[Requester], sums: QuerySet[Any, Any]) -> QuerySet[Requester]:
    """Return the customers that are in the sums."""
    numbers = sums.values_list("requester_id", flat=True)
    known = list(numbers[: BoundedPaginator.MAX_COUNT + 1])  # added up once, although the list is counted and read
    return queryset.filter(pk__in=numbers if len(known) > BoundedPaginator.MAX_COUNT else in_array(known))
