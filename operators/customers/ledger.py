"""The ledger: entries, and a form for adjustments. The database rejects all other changes."""

from collections.abc import Iterable
from contextlib import suppress
from typing import ClassVar

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from analytics.ledger.due import book_due
from analytics.ledger.refunds import booked_charge, charge_of, is_single
from analytics.ledger.serializers import LedgerEntrySerializer
from analytics.ledger.services import adjust
from analytics.ledger.views import render_entries
from analytics.models import AccessEvent, EntryType, LedgerEntry
from kit.http.errors import ServiceUnavailable
from kit.rest.export import Row
from kit.values import ids
from kit.values.currencies import in_full
from licensing.access.archived.queryset import ORDER_BY_ID, HistoryQuerySet
from operators.base.exporting import ListExport
from operators.base.fields import Values
from operators.base.filters import BookedInFilter, CountsInFilter, LocalDateTimeFilter, RelatedFilter, UnitFilter
from operators.base.forms.confirmed_form import ConfirmedFormAdmin, FormConfirmation
from operators.base.links import link_to
from operators.base.lists.change_list import BoundedChangeList
from operators.base.lists.columns import amount_column, column, external_id_of, time_column
from operators.base.lists.totals import TotalledList, sums_in_words
from operators.base.pages import EmptyState
from operators.base.scope import request_scope
from operators.base.searching import CustomerSearch
from operators.base.suggesting import SuggestingAdmin, SuggestionKind
from operators.base.times import TO_SECOND, shown_time
from operators.customers.adjustment_form import (
    AdjustmentForm,
    adjustment_title,
    debts_of_merged_ones,
    earlier_refunds,
    owed_in_words,
    returned_credit,
    was_prepaid,
)
from operators.customers.double_bookings import booking_in_words, check_promise
from operators.customers.refund_button import RefundableCharge, RefundButton


@admin.register(LedgerEntry)
class LedgerAdmin(
    TotalledList[LedgerEntry],
    CustomerSearch[LedgerEntry],
    SuggestingAdmin[LedgerEntry],
    RefundButton[LedgerEntry],
    ListExport[LedgerEntry],
    ConfirmedFormAdmin[LedgerEntry],
):
    empty_state = EmptyState(
        "Entries come from licences with a price or a fee, charged accesses and adjustments.",
        "Issue a licence",
        "licensing_license_add",
        ("licensing.add_license",),
    )
    list_display = (
        "booked_at", "when", "type", "sum", "requester", "license_type", "content", "description", "account",
    )  # fmt: skip
    when = time_column("Counts at", "occurred_at", TO_SECOND)
    booked_at = time_column("Booked", "created", TO_SECOND)
    sum = amount_column("Amount", "amount", ordering="amount")
    own_number = column("Your own number", external_id_of)
    list_select_related = ("account", "requester", "content", "license", "decision")
    phone_row_title = "sum"
    phone_row_columns = {"type": "", "requester": "", "booked_at": ""}
    fieldset_headings = {"of": "What it is about"}
    list_filter = (
        ("type", ChoicesDropdownFilter),
        ("currency", UnitFilter),
        CountsInFilter,
        BookedInFilter,
        ("occurred_at", LocalDateTimeFilter),
        ("created", LocalDateTimeFilter),
        ("requester", RelatedFilter),
        ("account", RelatedFilter),
    )
    search_help_text = (
        "A full led_ id, a charged decision's, your own number, or the start of a customer's id or name."
    )
    has_own_numbers = True
    total_of = "entries"
    actions_list = ("export_items",)
    actions_detail = ("refund", "adjust")
    export_name = "ledger"
    export_serializer = LedgerEntrySerializer
    export_related = ("requester", "content")
    sortable_by = ("booked_at", "when", "type", "sum", "license_type")
    form = AdjustmentForm
    optional = frozenset({"external_id", "license_type"})
    add_fieldsets = (
        (
            None,
            {"fields": ("account", "is_refund", "amount", "currency", "description", "external_id", "occurred_at")},
        ),
        (
            "What it is about",
            {"fields": ("of_fee", "of_decision", "of_license", "of_requester", "of_content", "license_type")},
        ),
    )
    fields = readonly = (
        "identifier", "account", "type", "sum", "refunds", "when", "description", "own_number", "of", "license_type",
        "booked_at",
    )  # fmt: skip
    autocomplete_fields = ("account",)
    suggested: ClassVar = {
        "of_license": SuggestionKind.LICENSE,
        "of_requester": SuggestionKind.REQUESTER,
        "of_content": SuggestionKind.ITEM,
        "license_type": SuggestionKind.LICENSE_TYPE,
    }

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[LedgerEntry], search_term: str
    ) -> tuple[QuerySet[LedgerEntry], bool]:
        """Find a decision's charge, too: it has the decision's id, except for the prefix."""
        raw = ids.decode("dec", search_term.strip())
        return super().get_search_results(request, queryset, ids.encode("led", raw) if raw else search_term)

    def export_rows(self, rows: list[LedgerEntry]) -> list[Row]:
        return render_entries(rows)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        book_due(None)
        return super().changelist_view(request, extra_context)

    def totals(self, changelist: BoundedChangeList) -> list[str]:
        return sums_in_words(changelist.queryset, "amount")

    def create(self, request: HttpRequest, fields: Values) -> LedgerEntry:
        entry, is_new = adjust(fields.pop("account").pk, fields)
        if not is_new:
            known = format_html("This number was booked before: {}.", booking_in_words(entry))
            raise ValidationError({"external_id": known})
        if entry.requester is not None:
            check_promise(request, entry.requester, entry.currency, entry.created)
        return entry

    def refundable_charge(self, entry: LedgerEntry) -> RefundableCharge | None:
        charge = booked_charge(entry)
        return None if charge is None else RefundableCharge(entry.account_id, charge, entry.currency)

    def about(self, entry: LedgerEntry) -> str:
        what = f"licence of type {entry.license_type}" if entry.license_type else in_full(entry.amount, entry.currency)
        if entry.type == EntryType.FEE:
            what = f"fee of the {what}"
        elif is_single(entry):
            what = entry.description or what
        elif entry.content is not None:
            what = entry.content.title
        return f"{what}, {entry.occurred_at.astimezone(entry.account.zone):%Y-%m-%d %H:%M %Z}"

    def refund_fields(self, entry: LedgerEntry) -> dict[str, str]:
        named = {
            "of_fee": entry.pk if is_single(entry) else entry.fee_id,
            "currency": entry.currency,
            "of_decision": entry.decision_id,
            "of_license": entry.license_id,
            "of_requester": entry.requester.requester_id if entry.requester else None,
            "of_content": entry.content_id,
            "license_type": entry.license_type,
        }
        return {name: value for name, value in named.items() if value is not None}

    def confirmation(self, request: HttpRequest, before: LedgerEntry | None, saved: LedgerEntry) -> FormConfirmation:
        about = [one for one in (saved.requester, saved.license, saved.decision, saved.content) if one is not None]
        refunded = self.refunded_charge(saved)
        return FormConfirmation(
            title=adjustment_title(saved, is_refund=bool(request.POST.get("is_refund"))),
            facts=[
                ("Account", str(saved.account)),
                ("Amount", in_full(saved.amount, saved.currency)),
                ("Reason", saved.description or "–"),
                *([("Afterwards", refunded.in_words())] if refunded is not None else []),
                ("Counts at", shown_time(saved.occurred_at, TO_SECOND)),
                ("About", ", ".join(str(one) for one in about) or "–"),
                ("Licence type", saved.license_type or "–"),
            ],
            effects=[
                *owed_in_words(saved),
                f"Revenue {'rises' if saved.amount > 0 else 'falls'} by {in_full(abs(saved.amount), saved.currency)} "
                f"on {saved.occurred_at.astimezone(saved.account.zone):%Y-%m-%d}.",
                *(["It returns to the wallet that paid, as credit."] if was_prepaid(saved) else []),
                "Entries cannot be changed. Correct a mistake with another entry.",
            ],
            button="Book it",
            warnings=returned_credit(saved)
            if refunded is None
            else [*earlier_refunds(refunded, saved), *debts_of_merged_ones(saved)],
            promised_at=saved.created,
        )

    def refunded_charge(self, saved: LedgerEntry) -> RefundableCharge | None:
        """Return the charge that an adjustment refunds, or None."""
        charge = charge_of(saved)
        if charge is None or saved.amount > 0:
            return None
        return RefundableCharge(saved.account_id, charge, saved.currency)

    def form_context(self, request: HttpRequest, form: ModelForm, obj: LedgerEntry | None) -> dict[str, object]:
        context = super().form_context(request, form, obj)
        if obj is None and isinstance(form, AdjustmentForm):
            charged = form.refundable_charge()
            if charged is None or request_scope(request).includes(charged.account_id):
                form.explain_refund()
            if form["is_refund"].value():
                context["title"] = "Refund"
        return context

    # --- Showing -----------------------------------------------------------------------------------------------------

    @display(description="Refunds", empty_value="none: it books no charge")
    def refunds(self, entry: LedgerEntry) -> str | None:
        charged = self.refundable_charge(entry)
        return None if charged is None else charged.refunds()

    @display(description="About")
    def of(self, entry: LedgerEntry) -> str:
        """Link to the resources that the entry names, except deleted ones."""
        return links([entry.fee, decision_about(entry), entry.license, entry.requester, entry.content])


def decision_about(entry: LedgerEntry) -> AccessEvent | None:
    """Return the decision, also from the archive; None if it was purged or the archive cannot be read."""
    if entry.decision is not None or entry.decision_id is None:
        return entry.decision
    named = AccessEvent.objects.filter(account=entry.account_id, pk=entry.decision_id).order_by(*ORDER_BY_ID)
    with suppress(ServiceUnavailable):  # which is logged
        return next(iter(HistoryQuerySet.covering(named)), None)
    return None


def links(objects: Iterable[Model | None]) -> str:
    rows = ((str(one._meta.verbose_name).capitalize(), link_to(one)) for one in objects if one is not None)
    return format_html_join("", "<div>{} {}</div>", rows) or "–"
