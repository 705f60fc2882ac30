"""Wallets in the admin: balance and expiry, opening, top-ups and terms."""

from decimal import Decimal
from typing import ClassVar

from django.contrib import admin, messages
from django.forms import Media, ModelForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from unfold.decorators import display

from analytics.models import Wallet, WalletEntry
from analytics.wallets import services
from analytics.wallets.forecast import Forecast, forecast
from analytics.wallets.serializers import WalletChangeSerializer, WalletSerializer
from analytics.wallets.stored_books import as_of, grants_as_of, lock_book, settle
from analytics.wallets.units import ACCESS, in_units
from operators.base.fields import Values, validate_fields
from operators.base.figures.charts import CHART_FILES, Chart, Column, Row
from operators.base.filters import RelatedFilter, UnitFilter
from operators.base.forms.confirmation import Confirmation, confirmed_action
from operators.base.forms.confirmed_form import ConfirmedFormAdmin, FormConfirmation
from operators.base.links import change_url, link_to
from operators.base.pages import EmptyState
from operators.base.searching import CustomerSearch
from operators.base.suggesting import SuggestingAdmin, SuggestionKind
from operators.base.times import shown_time
from operators.customers.arrears import opening_warning
from operators.customers.quotas import count_here
from operators.customers.taking_back import open_grants, taking_back
from operators.customers.top_ups import top_up_confirmation, unit_name
from operators.customers.wallet_forms import Terms, WalletForm, initial_terms, terms_in_body

MAX_ENTRIES = 20
MINOR = Decimal("0.01")


@admin.register(Wallet)
class WalletAdmin(CustomerSearch[Wallet], SuggestingAdmin[Wallet], ConfirmedFormAdmin[Wallet]):
    empty_state = EmptyState("A wallet holds what a customer paid for in advance: a quota of accesses, or money.")
    list_display = ("requester", "counts", "left", "refilled", "account")
    list_select_related = ("account", "requester", "license")
    phone_row_columns = {"counts": "", "left": "left"}
    list_filter = (("unit", UnitFilter), ("requester", RelatedFilter), ("account", RelatedFilter))
    search_help_text = "A full wal_ id, or the start of a customer's id or name."
    form = WalletForm
    add_fieldsets = (
        (None, {"fields": ("account", "requester_own_id", "own_unit")}),
        ("Each period", {"fields": ("refill_amount", "refill_every", "rollover_max")}),
        ("When it runs low", {"fields": ("low_percent", "overdraft", "of_license")}),
    )
    fields = readonly = (
        "identifier", "account", "customer_link", "counts", "left", "spendable", "refilled", "warnings", "grants",
        "entries",
    )  # fmt: skip
    fieldset_headings = {"grants": "What was added", "entries": "Latest changes"}
    autocomplete_fields = ("account",)
    suggested: ClassVar = {"requester_own_id": SuggestionKind.REQUESTER, "of_license": SuggestionKind.LICENSE}
    actions_detail = ("top_up", "change_terms", "take_back")
    change_form_outer_before_template = "operators/customers/wallet_forecast.html"

    @property
    def media(self) -> Media:
        return super().media + CHART_FILES

    def create(self, request: HttpRequest, fields: Values) -> Wallet:
        body = {"requesterId": fields["requester_own_id"], "unit": fields["own_unit"], **terms_in_body(fields)}
        if fields.get("of_license"):
            body["licenseId"] = fields["of_license"]
        checked = {**validate_fields(WalletSerializer(), body), "id": fields["id"]}
        count_here(fields["account"].pk, checked)
        return services.create_wallet(fields["account"].pk, checked)

    def confirmation(self, request: HttpRequest, before: Wallet | None, saved: Wallet) -> FormConfirmation | None:
        warning = opening_warning(saved)
        if warning is None:
            return None
        return FormConfirmation(
            title=f"Open a wallet for {saved.requester}?",
            facts=[("Account", str(saved.account)), ("Counts", unit_name(saved.unit))],
            effects=["Top up, on the customer's page, opens the wallet with its first credit."],
            button="Open it",
            warnings=[warning],
        )

    def form_context(self, request: HttpRequest, form: ModelForm, obj: Wallet | None) -> dict[str, object]:
        context = super().form_context(request, form, obj)
        return context if obj is None else {**context, "forecast": self.figures(obj)}

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Wallet | None:
        """Return the wallet as it is now."""
        wallet = super().get_object(request, object_id, from_field)
        if wallet is not None:
            settle(wallet)
            wallet.refresh_from_db(fields=["balance", "reference", "next_refill_at", "next_change_at"])
        return wallet

    def figures(self, wallet: Wallet) -> dict[str, object]:
        shown = forecast(wallet, timezone.now())
        return {
            "left": what_is_left(wallet),
            "told": in_words(shown, wallet),
            "chart": balance_chart(shown),
            "zone_name": wallet.account.time_zone,
        }

    # --- Actions -----------------------------------------------------------------------------------------------------

    @confirmed_action("Top up", "add_card", "top-up")
    def top_up(self, request: HttpRequest, wallet: Wallet) -> Confirmation:
        return top_up_confirmation(request, wallet.requester, Wallet.objects.filter(pk=wallet.pk), opens_wallets=False)

    @confirmed_action("Set a quota", "tune", "terms")
    def change_terms(self, request: HttpRequest, wallet: Wallet) -> Confirmation:
        def perform(fields: Values) -> None:
            terms = terms_in_body(fields, lock_book(wallet).wallet)
            checked = validate_fields(WalletChangeSerializer(partial=True), terms)
            if wallet.refill_anchor is None:
                count_here(wallet.account_id, checked)
            services.update_wallet(wallet, checked)

        def current(*, lock: bool) -> dict[str, object]:
            return (lock_book(wallet).wallet if lock else wallet).audited()

        return Confirmation(
            title=f"Refills and limits of {wallet.requester}",
            facts=[("Now", what_is_left(wallet))],
            effects=[
                "What you set applies from the next refill on. The balance does not change now."
                if wallet.refills
                else "The first refill comes at once. Otherwise the balance does not change."
            ],
            button="Save",
            form=Terms,
            initial=initial_terms(wallet),
            perform=perform,
            done="Saved.",
            current=current,
        )

    @confirmed_action("Take back", "undo", "take-back")
    def take_back(self, request: HttpRequest, wallet: Wallet) -> Confirmation | HttpResponse:
        grants = open_grants(wallet)
        if not grants:
            self.message_user(request, "Nothing is left that could be taken back.", messages.WARNING)
            return redirect(change_url(wallet))
        return taking_back(wallet, grants)

    # --- Showing -----------------------------------------------------------------------------------------------------

    @display(description="Customer")
    def customer_link(self, wallet: Wallet) -> str:
        held = format_html(" · {}", wallet.license) if wallet.license else ""
        return format_html("{} ({}){}", link_to(wallet.requester), wallet.requester.requester_id, held)

    @display(description="Counts", ordering="unit")
    def counts(self, wallet: Wallet) -> str:
        return "accesses" if wallet.unit == ACCESS else wallet.unit

    @display(description="Balance", ordering="balance")
    def left(self, wallet: Wallet) -> str:
        [book] = as_of([wallet], timezone.now())
        return in_units(book.wallet.balance, wallet.unit)

    @display(description="Can be spent")
    def spendable(self, wallet: Wallet) -> str:
        return f"{in_units(wallet.available, wallet.unit)}{overdraft_left(wallet)}"

    @display(description="Refill", ordering="next_refill_at", empty_value="none")
    def refilled(self, wallet: Wallet) -> str | None:
        if wallet.refill_amount is None or wallet.next_refill_at is None:
            return None
        amount = in_units(wallet.refill_amount, wallet.unit)
        return format_html("{} each {}, next on {}", amount, wallet.refill_every, shown_time(wallet.next_refill_at))

    @display(description="Warnings", empty_value="none")
    def warnings(self, wallet: Wallet) -> str | None:
        limits = [
            f"at {threshold['percent']} %" if "percent" in threshold else f"at {threshold['value']} {wallet.unit}"
            for threshold in wallet.thresholds
        ]
        return ", ".join(limits) or None

    @display(description="Grants")
    def grants(self, wallet: Wallet) -> str:
        latest = list(wallet.grants.order_by("-created", "-pk")[:MAX_ENTRIES])
        rows = (
            (shown_time(one.created), in_units(one.amount, wallet.unit), one.kind, one.status,
             in_units(one.remaining, wallet.unit), one.external_id or "")
            for one in grants_as_of(wallet, latest, timezone.now())
        )  # fmt: skip
        return format_html_join("", "<div>{}: {} ({}, {}), {} left {}</div>", rows) or "–"

    @display(description="Entries")
    def entries(self, wallet: Wallet) -> str:
        latest = WalletEntry.objects.filter(wallet=wallet).order_by("-created", "-pk")[:MAX_ENTRIES]
        rows = ((shown_time(one.created), one.type, in_units(one.amount, wallet.unit)) for one in latest)
        return format_html_join("", "<div>{}: {} {}</div>", rows) or "–"


def what_is_left(wallet: Wallet) -> str:
    return f"{in_units(wallet.available, wallet.unit)} left{overdraft_left(wallet)}"


def overdraft_left(wallet: Wallet) -> str:
    overdraft = min(wallet.available, -wallet.floor)
    return f", {in_units(overdraft, wallet.unit)} of it below 0" if overdraft else ""


def in_words(shown: Forecast, wallet: Wallet) -> str:
    """Say when the balance ends."""
    if not shown.spent_daily:
        return "Nothing was spent in the last 30 days."
    if not wallet.available:
        return "Nothing is left. Checks are denied until it is topped up or refilled."
    pace = (
        in_units(shown.spent_daily.quantize(MINOR), wallet.unit)
        if wallet.unit != ACCESS
        else f"{shown.spent_daily:,.1f} accesses"
    )
    if shown.ends is None:
        return f"At {pace} a day it lasts for years."
    return f"At {pace} a day it ends on {shown.ends:%Y-%m-%d} ({wallet.account.time_zone})."


def balance_chart(shown: Forecast) -> Chart | None:
    """Draw the balance of each day, and behind it the projection."""
    if not any(balance for _, balance in shown.balances):
        return None
    rows = [Row(day, (amount_text(balance), "–")) for day, balance in shown.balances]
    rows += [Row(day, ("–", amount_text(balance))) for day, balance in shown.projected]
    return Chart("Balance", "Left", "day", [Column("Balance", "allowed"), Column("Projected", "plain")], rows)


def amount_text(amount: object) -> str:
    return f"{amount:,.2f}".removesuffix(".00")
