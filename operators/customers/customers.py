"""Customers: who they are, their balance, decisions and licences. Created here, or by their first check or licence."""

from collections.abc import Callable
from datetime import datetime
from operator import methodcaller
from typing import ClassVar, cast

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.defaultfilters import linebreaksbr
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.decorators import action, display

from analytics.ledger.due import book_due
from analytics.models import AccessEvent, LedgerEntry, Payment, Statement, Wallet
from analytics.usage.subject_usage import last_decision_at
from analytics.wallets.stored_books import as_of
from analytics.wallets.units import in_units
from kit.rest.export import Row
from licensing.licenses.models import License
from licensing.requesters.models import Requester
from licensing.requesters.serializers import RequesterProfileSerializer
from operators.base.exporting import ListExport
from operators.base.figures.recent import RecentFigures, filled_in, latest_decisions
from operators.base.figures.terms import standing_first
from operators.base.filters import RelatedFilter
from operators.base.forms.confirmation import Confirmation, confirmed_action
from operators.base.links import link_to, list_url, may_open, with_copy_button
from operators.base.lists.columns import time_column
from operators.base.lists.totals import TotalledList
from operators.base.pages import EmptyState
from operators.base.rights import right
from operators.base.searching import find_requesters
from operators.base.times import shown_time
from operators.customers.balances import money_facts, totals_in_words
from operators.customers.customer_changes import CustomerChanges
from operators.customers.customer_list import (
    FIGURES_ATTRIBUTE,
    BalanceFilter,
    CurrencyFilter,
    CustomerChangeList,
    KindFilter,
    ListFigures,
    list_figures,
)
from operators.customers.payment_help import payment_fields
from operators.customers.quotas import unused_refills
from operators.customers.refund_page import RefundPage
from operators.customers.top_ups import top_up_confirmation

ACTIONS_BEFORE_MERGE = ("issue_license", "top_up", "edit", "merge")  # they would be about the other customer
MAX_MERGED = 20  # customers named on the page of the one that they were merged into
CARD_ACTIONS = ("edit", "merge", "erase")  # linked in the card "Who it is": the bar has no room for them


def figure_column(
    title: str, show: Callable[[ListFigures], str | None], ordering: str | None = None, empty: str = "none"
) -> Callable[[object, Requester], str | None]:
    @display(description=title, ordering=ordering, empty_value=empty)
    def column(admin: object, requester: Requester) -> str | None:
        return show(getattr(requester, FIGURES_ATTRIBUTE))

    return column


def amount_column(title: str, name: str, empty: str = "none") -> Callable[[object, Requester], str | None]:
    """Return a column with an amount in the currency of the list."""
    return figure_column(title, methodcaller("amounts_in_words", name), name, empty)


@admin.register(Requester)
class RequesterAdmin(
    TotalledList[Requester], RecentFigures[Requester], CustomerChanges, RefundPage, ListExport[Requester]
):
    subject_kind = "requester"
    licenses_title = "Licences"
    no_licenses = "No licence was ever issued."
    empty_state = EmptyState(
        "Customers are created by their first check or licence.",
        "Issue a licence",
        "licensing_license_add",
        ("licensing.add_license",),
    )
    list_display = (
        "requester_id", "name", "licences", "owes", "revenue", "credit", "last_seen", "account", "first_seen",
    )  # fmt: skip
    list_display_links = ("requester_id", "name")
    list_select_related = ("account",)
    phone_row_columns = {"owes": "", "name": "", "licences": ""}
    fieldset_headings = {"decisions": "Decisions"}
    list_filter = (KindFilter, BalanceFilter, CurrencyFilter, ("account", RelatedFilter))
    search_fields = ("requester_id", "name")
    search = staticmethod(find_requesters)
    search_help_text = "The start of the customer's id, or the start of words in the name."
    sortable_by = ("requester_id", "name", "owes", "revenue", "credit", "first_seen")
    fields = readonly_fields = (
        "own_id", "name", "email", "notes", "account", "first_seen", "merged", "decisions", "everything",
    )  # fmt: skip
    first_seen = time_column("First seen", "created")
    actions_list = ("add_customer", "export_items")
    total_of = "balances"
    newest_booking_first = False
    changelist_class = CustomerChangeList
    export_name = "customers"
    export_serializer = RequesterProfileSerializer
    export_columns = (
        "id", "name", "email", "mergedInto", "created", "licences", "last_seen",
        "currency", "owes", "revenue", "credit",
    )  # fmt: skip
    export_related = ("merged_into",)
    actions_detail = (
        "issue_license",
        "check_access",
        "top_up",
        "record_payment",
        "refund",
        "charge",
        "statement",
        *CARD_ACTIONS,
    )
    rights = {"decisions": "analytics.view_accessevent"}
    column_rights: ClassVar = {
        "licences": "licensing.view_license",
        "owes": "analytics.view_statement",
        "revenue": "analytics.view_ledgerentry",
        "credit": "analytics.view_wallet",
        "last_seen": "analytics.view_accessevent",
    }

    def get_list_display(self, request: HttpRequest) -> tuple[str | Callable[[Requester], str | bool], ...]:
        """Omit columns that the operator may not see."""
        hidden = self.hidden_columns(request)
        return tuple(name for name in super().get_list_display(request) if name not in hidden)

    def hidden_columns(self, request: HttpRequest) -> set[str]:
        return {name for name, right in self.column_rights.items() if not request.user.has_perm(right)}

    def columns_to_export(self, request: HttpRequest) -> list[str]:
        hidden = self.hidden_columns(request)
        return [name for name in self.export_columns if name not in hidden]

    def export_rows(self, rows: list[Requester]) -> list[Row]:
        """Return a row for each customer and currency."""
        figures = list_figures([requester.pk for requester in rows])
        profiles = zip(rows, super().export_rows(rows), strict=True)
        return [{**profile, **row} for requester, profile in profiles for row in figures[requester.pk].exported_rows()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        book_due(None)
        return super().changelist_view(request, extra_context)

    def shows_totals(self, request: HttpRequest) -> bool:
        return "owes" not in self.hidden_columns(request)

    def totals(self, changelist: CustomerChangeList) -> list[str]:
        return totals_in_words((row["currency"], row["debt"]) for row in changelist.sums)

    def shown_licenses(self, requester: Requester) -> QuerySet[License]:
        return standing_first(License.objects.filter(requester=requester).select_related("requester"))

    def license_fields(self, requester: Requester) -> dict[str, str]:
        return {"requester_own_id": requester.requester_id, "requester_name": requester.name or ""}

    def check_fields(self, requester: Requester) -> dict[str, str]:
        return {"requester": requester.requester_id}

    def grantable(self) -> frozenset[str]:
        return frozenset({"view", "add", "change"})

    # --- Buttons -----------------------------------------------------------------------------------------------------

    def hidden_actions(self, requester: Requester) -> tuple[str, ...]:
        return CARD_ACTIONS if requester.merged_into_id is None else CARD_ACTIONS + ACTIONS_BEFORE_MERGE

    has_changing_wallets_permission = right("analytics.change_wallet")

    @confirmed_action("Top up", "add_card", "top-up", permission="changing_wallets")
    def top_up(self, request: HttpRequest, requester: Requester) -> Confirmation:
        wallets = Wallet.objects.filter(requester=requester.current)
        return top_up_confirmation(request, requester, wallets, opens_wallets=True)

    has_paying_permission = right("analytics.add_payment")

    @action(description="Record payment", icon="payments", permissions=["paying"], url_path="record-payment")
    def record_payment(self, request: HttpRequest, object_id: str) -> HttpResponse:
        requester = self.require_object(request, object_id)
        return filled_in("admin:analytics_payment_add", requester, payment_fields(requester))

    @action(description="Charge", icon="add_circle", permissions=["refunding"], url_path="charge")
    def charge(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Open the form of an adjustment about the customer."""
        requester = self.require_object(request, object_id)
        fields = {"of_requester": requester.requester_id, "currency": requester.account.currency}
        return filled_in("admin:analytics_ledgerentry_add", requester, fields)

    has_reading_statements_permission = right("analytics.view_statement")

    @action(description="Statement", icon="receipt_long", permissions=["reading_statements"], url_path="statement")
    def statement(self, request: HttpRequest, object_id: str) -> HttpResponse:
        requester = self.require_object(request, object_id)
        return redirect(list_url(Statement, requester__id__exact=str(requester.pk)))

    def figures(self, request: HttpRequest, requester: Requester, now: datetime) -> dict[str, object]:
        shown = super().figures(request, requester, now)
        who = {"Customer": str(requester), "Own id": requester.requester_id, "E-mail": requester.email or "not known"}
        if requester.metadata.get("address"):
            who["Address"] = linebreaksbr(requester.metadata["address"])
        if request.user.has_perm("analytics.view_wallet"):
            who["Credit"] = self.credit_in_wallets(requester)
            if unused := unused_refills(requester, "{}: {}"):
                who["No licence uses it"] = format_html_join("; ", "{}", ((one,) for one in unused))
        if request.user.has_perm("analytics.view_statement"):
            who |= money_facts(requester, now)
        if request.user.has_perm("analytics.view_accessevent"):
            who["Last access"] = self.last_access(requester)
        links = {}
        if self.has_changing_permission(request):
            names = CARD_ACTIONS if requester.merged_into is None else set(CARD_ACTIONS) - set(ACTIONS_BEFORE_MERGE)
            urls = ((name, f"admin:licensing_requester_{name}") for name in names)
            links = {name.capitalize(): reverse(url, args=[requester.pk]) for name, url in urls}
        of_one = cast("dict[str, object]", shown["of_one"])
        of_one["merges"] = merges(requester)
        if requester.merged_into is not None:
            of_one["no_licenses"] = f"Its licences moved to {requester.merged_into}."
        return {**shown, "who": who, "who_links": links}

    # --- Showing -----------------------------------------------------------------------------------------------------

    licences = figure_column("Licence", ListFigures.licences_in_words)
    owes = amount_column("Balance", "debt", empty="nothing owed")
    revenue = amount_column("Revenue", "earned")
    credit = amount_column("Credit", "credit_left")
    last_seen = figure_column("Last access", ListFigures.access_in_words, empty="never")

    def credit_in_wallets(self, requester: Requester) -> str:
        """Return the current balance of each wallet."""
        if not requester.wallets:
            return "no wallet"
        wallets = Wallet.objects.filter(requester=requester).order_by("created", "pk")
        books = as_of(wallets, timezone.now())
        return ", ".join(in_units(book.wallet.balance, book.wallet.unit) for book in books)

    def last_access(self, requester: Requester) -> str:
        """Return the time of the last decision about the customer or one that was merged into it."""
        last = [last_decision_at(requester.account_id, number) for number in requester.numbers]
        seen = [moment for moment in last if moment is not None]
        return shown_time(max(seen)) if seen else "never"

    @display(description="Merged into")
    def merged(self, requester: Requester) -> str:
        if requester.merged_into is None:
            return "nobody"
        return link_to(requester.merged_into)

    @display(description="Customer's own id")
    def own_id(self, requester: Requester) -> str:
        return with_copy_button(requester.requester_id)

    @display(description="Latest decisions")
    def decisions(self, requester: Requester) -> str:
        events = AccessEvent.objects.filter(requester=requester).order_by("-created")
        return latest_decisions(events.select_related("content"), "content")

    @display(description="All of them")
    def everything(self, requester: Requester) -> str:
        models = (
            (License, "Licences"),
            (Wallet, "Wallets"),
            (AccessEvent, "Decisions"),
            (LedgerEntry, "Ledger"),
            (Payment, "Payments"),
            (Statement, "Statements"),
        )
        shown = {"requester__id__exact": str(requester.pk)}
        rows = ((list_url(model, **shown), name) for model, name in models if may_open(model))
        return format_html_join(" · ", '<a class="text-link" href="{}">{}</a>', rows)


def merges(requester: Requester) -> SafeString:
    """Say which decisions and charges are under another customer because of a merge."""
    if requester.merged_into is not None:
        return format_html("Since its merge, decisions and charges are under {}.", link_to(requester.merged_into))
    links = format_html_join(", ", "{}", ((link_to(one),) for one in requester.merged_ones[:MAX_MERGED]))
    if not links:
        return links
    return format_html("Decisions and charges from before a merge are under {}.", links)
