"""The list of customers: what each holds and owes, read once for a page, and its filters."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest
from django.utils import timezone
from msgspec import Struct

from analytics.models import AccessEvent, Statement
from licensing.licenses.models import License, LicenseStatus
from licensing.requesters.models import Requester
from operators.base.filters import OptionsFilter
from operators.base.lists import BoundedChangeList
from operators.base.mixins import AdminMixin
from operators.base.scope import request_scope
from operators.base.times import shown_time
from operators.customers.customer_money import balance_in_words, latest_statements

FIGURES = "list_figures"  # the attribute of a listed customer
MOST_TYPES = 3  # licence types to name


class ListFigures(Struct, frozen=True):
    """A customer's figures in the list."""

    licence_types: list[str]
    balances: list[tuple[str, Decimal]]  # by currency
    last_access: datetime | None

    def licences_in_words(self) -> str | None:
        named = ", ".join(self.licence_types[:MOST_TYPES])
        more = len(self.licence_types) - MOST_TYPES
        return f"{named} and {more} more" if more > 0 else named or None

    def owed_in_words(self) -> str | None:
        return ", ".join(balance_in_words(closing, currency) for currency, closing in self.balances) or None

    def access_in_words(self) -> str | None:
        return None if self.last_access is None else shown_time(self.last_access)


class CustomerChangeList(BoundedChangeList):
    result_list: Iterable[Requester]

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Requester] = list(self.result_list)
        figures = list_figures([requester.pk for requester in rows])
        for requester in rows:
            setattr(requester, FIGURES, figures[requester.pk])
        self.result_list = rows


def list_figures(numbers: Iterable[int]) -> dict[int, ListFigures]:
    """Return the figures of customers, in three queries."""
    types: dict[int, set[str]] = defaultdict(set)
    running = License.objects.filter(requester__in=numbers, status=LicenseStatus.ACTIVE)
    running = running.exclude(expires_at__lte=timezone.now())
    for number, license_type in running.order_by().values_list("requester_id", "license_type").distinct():
        types[number].add(license_type)

    balances: dict[int, list[tuple[str, Decimal]]] = defaultdict(list)
    closings = latest_statements(Statement.objects.filter(requester__in=numbers)).exclude(closing=0)
    for number, currency, closing in closings.order_by("currency").values_list("requester_id", "currency", "closing"):
        balances[number].append((currency, closing))

    newest = AccessEvent.objects.filter(requester=OuterRef("pk")).order_by("-created").values("created")[:1]
    seen = Requester.objects.filter(pk__in=numbers).annotate(last_access=Subquery(newest))
    accesses = dict(seen.values_list("pk", "last_access"))
    return {number: ListFigures(sorted(types[number]), balances[number], accesses.get(number)) for number in numbers}


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
    """Filters by the closing balance of the latest statement, in any currency."""

    title = "balance"
    parameter_name = "balance"
    options = {"owes": "owes money", "advance": "paid in advance"}

    def lookups(self, request: HttpRequest, model_admin: AdminMixin[Requester]) -> list[tuple[str, str]]:
        """Offer nothing to operators who may not see statements: Django then ignores the filter."""
        may_see = request.user.has_perm("analytics.view_statement")
        return super().lookups(request, model_admin) if may_see else []

    def apply_option(self, queryset: QuerySet[Requester], value: str) -> QuerySet[Requester]:
        latest = latest_statements(request_scope(self.request).narrow(Statement.objects.all()))
        matching = latest.filter(closing__gt=0) if value == "owes" else latest.filter(closing__lt=0)
        return queryset.filter(pk__in=matching.values("requester"))
