"""Statements: view, print and export, read-only."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import Count, QuerySet, Window
from django.db.models.functions import Coalesce, Lower
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.text import get_valid_filename
from rest_framework.request import Request
from unfold.decorators import action, display

from analytics.ledger.due import book_due
from analytics.models import Statement
from analytics.models.statements import HOLDER, requester_of
from analytics.statements.exporting import COLUMNS, balanced_chunks
from analytics.statements.printing import MOST_PRINTED, credit_changes, print_statements, printed
from analytics.statements.serializers import StatementSerializer
from analytics.wallets.units import ACCESS, in_units
from kit.rest.export import export
from kit.rest.heavy_mark import heavy
from kit.storage.replica import Reading
from kit.values.ids import decode
from operators.base.exporting import ListExport
from operators.base.figures.choice import parse_period
from operators.base.filters import (
    LATEST,
    LatestFilter,
    OptionsFilter,
    RelatedFilter,
    StatementPeriodFilter,
    UnitFilter,
    listed_months,
)
from operators.base.links import change_url, link_to, list_url
from operators.base.lists.change_list import BoundedChangeList, BoundedPaginator
from operators.base.lists.columns import amount_column
from operators.base.lists.saved_filters import PAGE
from operators.base.lists.totals import TotalledList
from operators.base.pages import EmptyState
from operators.base.searching import CustomerSearch
from operators.base.times import shown_time
from operators.customers.balances import totals_in_words

MAX_DIGITS = 6  # of a page's number
BACK = "Back to the admin"
BY_NAME = Lower(Coalesce("requester__name", "requester__requester_id"))
MOST_SHEETS = 200  # statements that are printed at once


class StatusFilter(OptionsFilter[Statement]):
    title = "status"
    parameter_name = "status"
    options = {"open": "open", "closed": "closed"}

    def apply_option(self, queryset: QuerySet[Statement], value: str) -> QuerySet[Statement]:
        return queryset.filter(closed_at__isnull=value == "open")


class CreditFilter(OptionsFilter[Statement]):
    title = "credit"
    parameter_name = "credit"
    options = {"expired": "of money, expired or void in the month"}

    def apply_option(self, queryset: QuerySet[Statement], value: str) -> QuerySet[Statement]:
        return queryset.filter(credit_expired__gt=0).exclude(currency=ACCESS)


def by_customer(statement: Statement) -> tuple[Any, ...]:
    """Sort by the customer's name, currency and month; entries without a customer last."""
    requester = statement.requester
    name = str(requester).casefold()
    holder = (requester is None, name, statement.account_id, statement.requester_id)
    return (*holder, statement.currency, statement.month)


class StatementPaginator(BoundedPaginator):
    """Reads a page and the number of all statements by one query, because each query adds up the open ones."""

    shown_page = 1

    @cached_property
    def rows(self) -> list[Any]:
        end = self.shown_page * self.per_page
        return list(self.object_list.annotate(matches=Window(Count("*")))[end - self.per_page : end])

    @cached_property
    def counted(self) -> int:
        if self.rows:
            return self.rows[0].matches
        return 0 if self.shown_page == 1 else super().counted


class StatementChangeList(BoundedChangeList):
    result_list: Iterable[Statement]

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = self.paginator.rows or self.result_list


@admin.register(Statement)
class StatementAdmin(TotalledList[Statement], CustomerSearch[Statement], ListExport[Statement]):
    empty_state = EmptyState(
        "A statement adds up what a customer was charged and paid in a month. The first appears with the first entry.",
        "Open the ledger",
        "analytics_ledgerentry_changelist",
        ("analytics.view_ledgerentry",),
    )
    list_display = (
        "month_text",
        "holder",
        "opening_balance",
        "turnover",
        "settled",
        "closing_balance",
        "state",
        "account",
    )
    list_select_related = ("account", "requester")
    phone_row_title = "holder"
    phone_row_columns = {"month_text": "", "closing_balance": "", "state": ""}
    fieldset_headings = {"opening_balance": "Figures", "lines_table": "Lines"}
    list_filter = (
        StatementPeriodFilter,
        LatestFilter,
        StatusFilter,
        CreditFilter,
        ("currency", UnitFilter),
        ("requester", RelatedFilter),
        ("account", RelatedFilter),
    )
    search_help_text = "A full stm_ id, or the start of a customer's id or name."
    total_of = "closing balances"
    newest_booking_first = False
    changelist_class = StatementChangeList
    sortable_by = ("month_text", "holder", "opening_balance", "turnover", "closing_balance")
    actions_list = ("print_items", "export_items")
    filtered_actions = ("/print-all/", "/export/")
    actions_detail = ("print_page", "export_lines")
    export_name = "statements"
    export_serializer = StatementSerializer
    export_related = ("requester",)
    heading_fields = ("identifier", "month_text", "customer_link", "account", "state_in_words")
    fields = readonly_fields = (
        *heading_fields, "opening_balance", "prices", "recurring_fees", "charges", "corrections", "turnover", "paid",
        "paid_out", "credit_paid", "closing_balance", "credit", "lines_table",
    )  # fmt: skip
    opening_balance = amount_column("Opening balance", "opening_balance", ordering="opening")
    closing_balance = amount_column("Closing balance", "closing_balance", ordering="closing")
    prices = amount_column("Licence prices", "licenses")
    recurring_fees = amount_column("Recurring fees", "fees")
    corrections = amount_column("Refunds and adjustments", "adjustments")
    paid = amount_column("Payments", "payments", sign=-1)
    paid_out = amount_column("Payouts", "payouts")

    class Media:
        css = {"all": ["analytics/statement.css"]}

    def get_fields(self, request: HttpRequest, obj: Statement | None = None) -> tuple[str, ...]:
        """Omit the sums of money from a quota's statement."""
        quota = obj is not None and obj.is_quota
        return (*self.heading_fields, "credit", "lines_table") if quota else self.fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Statement]:
        return super().get_queryset(request).prefetch_related(HOLDER)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Statement | None:
        """Return the statement, adding up the entries of its customer only."""
        if decode("stm", object_id) is None:
            return None
        return self.get_queryset(request).filter(pk=object_id, requester=requester_of(object_id)).first()

    def get_paginator(
        self, request: HttpRequest, queryset: QuerySet[Statement], per_page: int, *_: object, **__: object
    ) -> StatementPaginator:
        paginator = StatementPaginator(queryset, per_page)
        number = request.GET.get(PAGE, "")[:MAX_DIGITS]
        if number.isdecimal():
            paginator.shown_page = max(1, int(number))
        return paginator

    def shows_totals(self, request: HttpRequest) -> bool:
        """Whether the list has at most one statement per customer: balances of several months do not add up."""
        if request.GET.get(LatestFilter.parameter_name) == LATEST:
            return True
        month = request.GET.get(StatementPeriodFilter.parameter_name, "")
        period = parse_period(month, listed_months(request), timezone.now())
        return period is not None and period.months == 1

    def totals(self, changelist: BoundedChangeList) -> list[str]:
        money = changelist.queryset.exclude(currency=ACCESS)
        return totals_in_words(money.values_list("currency", "closing"))

    @heavy
    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        book_due(None)
        return super().changelist_view(request, extra_context)

    @heavy
    @action(description="Print", icon="print", permissions=["view"], url_path="print")
    def print_page(self, request: HttpRequest, object_id: str) -> HttpResponse:
        statement = self.require_object(request, object_id)
        return print_statements(request, [statement], change_url(statement), BACK, MOST_PRINTED)

    @heavy
    @action(description="Print", icon="print", permissions=["view"], url_path="print-all")
    def print_items(self, request: HttpRequest) -> HttpResponse:
        """Print the listed statements by customer, each on a sheet of its own."""
        listed = f"{list_url(Statement)}?{request.GET.urlencode()}"
        try:
            statements = list(self.get_changelist_instance(request).queryset[: MOST_SHEETS + 1])
        except IncorrectLookupParameters:
            return redirect(list_url(Statement))
        if not statements or len(statements) > MOST_SHEETS:
            problem = f"1 to {MOST_SHEETS} statements can be printed at once. Filter the list, for example by month."
            self.message_user(request, problem, messages.WARNING)
            return redirect(listed)
        return print_statements(request, sorted(statements, key=by_customer), listed, BACK)

    @heavy
    @action(description="Export", icon="download", permissions=["view"], url_path="lines")
    def export_lines(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        statement = self.require_object(request, object_id)
        customer = statement.requester.requester_id if statement.requester else "no-customer"
        name = get_valid_filename(f"statement-{statement.month:%Y-%m}-{statement.currency}-{customer}")
        reading = Reading(may_lag=False)
        return export(Request(request), "csv", name, COLUMNS, balanced_chunks(statement), reading, has_bom=True)

    # --- Showing -----------------------------------------------------------------------------------------------------

    @display(description="Month", ordering="month")
    def month_text(self, statement: Statement) -> str:
        return f"{statement.month:%Y-%m}"

    @display(description="Customer", ordering=BY_NAME, empty_value="of no customer")
    def holder(self, statement: Statement) -> str | None:
        requester = statement.requester
        return (statement.requester_name or requester.requester_id) if requester else None

    @display(description="Customer", empty_value="of no customer")
    def customer_link(self, statement: Statement) -> str | None:
        requester = statement.requester
        if requester is None:
            return None
        return format_html("{} ({})", link_to(requester, self.holder(statement)), requester.requester_id)

    @display(description="Status", label={"open": "info", "closed": "success"})
    def state(self, statement: Statement) -> str:
        return statement.status

    @display(description="Status")
    def state_in_words(self, statement: Statement) -> str:
        if statement.closed_at is None:
            return "open: it grows with the ledger until its month is over"
        return format_html("closed on {}; it never changes", shown_time(statement.closed_at))

    @display(description="Charged checks")
    def charges(self, statement: Statement) -> str:
        return f"{in_units(statement.usage, statement.currency)} for {statement.decisions:,} decisions"

    @display(description="Total of the month", ordering="total")
    def turnover(self, statement: Statement) -> str:
        if statement.is_quota:
            return f"{in_units(statement.credit_spent, statement.currency)} spent"
        return in_units(statement.total, statement.currency)

    @display(description="Payments, less payouts", empty_value="none")
    def settled(self, statement: Statement) -> str | None:
        """Return what payments and payouts change, so that a row adds up."""
        if statement.is_quota:
            return None
        return in_units((statement.payouts or Decimal(0)) - statement.payments, statement.currency)

    @display(description="Paid for credit")
    def credit_paid(self, statement: Statement) -> str:
        return f"{in_units(statement.paid_for_credit or Decimal(0), statement.currency)}, not part of the balance"

    @display(description="Credit", empty_value="no wallet")
    def credit(self, statement: Statement) -> str | None:
        return "; ".join(f"{name} {amount}" for name, amount in credit_changes(statement)) or None

    @display(description="Lines")
    def lines_table(self, statement: Statement) -> str:
        return render_to_string("analytics/statement_lines.html", printed(statement))
