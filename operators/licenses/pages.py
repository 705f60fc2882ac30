"""Licences: issue, change, renew and revoke."""

from copy import copy
from functools import partial
from typing import TYPE_CHECKING

from django.contrib import admin
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from unfold.decorators import display

from accounts.models import Account
from analytics.ledger.refunds import Charge
from analytics.models import LedgerEntry, Wallet
from analytics.wallets.stored_books import as_of
from licensing.licenses import services as license_services
from licensing.licenses.models import License, LicenseStatus
from licensing.licenses.serializers import STATES
from licensing.sites.models import Site
from operators.base.fields import Values
from operators.base.figures.terms import access_price_text, fee_text, price_text, scope_text, term_text
from operators.base.filters import ExactTextFilter, LocalDateTimeFilter, OptionsFilter, RelatedFilter
from operators.base.forms.confirmation import Confirmation, confirmed_action
from operators.base.forms.confirmed_form import ConfirmedFormAdmin, FormConfirmation
from operators.base.links import change_url, link_to, list_url, text_link
from operators.base.lists.columns import column, time_column
from operators.base.mixins import ServiceForm
from operators.base.pages import EmptyState
from operators.base.requests import admin_request
from operators.base.scope import request_scope
from operators.base.searching import find_licenses
from operators.base.times import time_in_words
from operators.customers.quotas import FIELDS as QUOTA_FIELDS
from operators.customers.quotas import Quota, unused_refills, wallet_in_words
from operators.customers.refund_button import RefundableCharge, RefundButton
from operators.licenses.effects import license_confirmation
from operators.licenses.form import FEE, LicenseForm
from operators.licenses.templates import LicenseForms

if TYPE_CHECKING:
    from django.contrib.admin.options import _FieldOpts

TERMS: "tuple[tuple[str, _FieldOpts], ...]" = (
    ("What it allows", {"fields": ("license_type", "content_ids", "tags", "policy_ids")}),
    ("When", {"fields": ("starts_at", "expires_at")}),
    ("Money", {"fields": ("price_amount", "price_currency", "access_amount", "access_currency", *FEE)}),
)

MAX_SITES = 3  # whose policies the form names
QUOTA: "tuple[str, _FieldOpts]" = ("Monthly quota", {"fields": QUOTA_FIELDS})


class StateFilter(OptionsFilter[License]):
    title = "state"
    parameter_name = "state"
    options = {state: state for state in STATES}

    def apply_option(self, queryset: QuerySet[License], value: str) -> QuerySet[License]:
        return license_services.with_state(queryset).filter(derived_status=value)


@admin.register(License)
class LicenseAdmin(LicenseForms, RefundButton[License], ConfirmedFormAdmin[License]):
    empty_state = EmptyState("A licence gives one customer the access that rules grant to licence holders.")
    list_display = ("license_type", "requester", "state", "covers", "term", "price", "per_access", "fee", "account")
    list_display_links = ("license_type", "requester")
    list_select_related = ("account", "requester")
    phone_row_columns = {"requester": "", "state": "", "term": ""}
    list_filter = (
        StateFilter,
        ("license_type", ExactTextFilter),
        ("requester", RelatedFilter),
        ("expires_at", LocalDateTimeFilter),
        ("account", RelatedFilter),
    )
    search_fields = ("requester__requester_id",)
    search = staticmethod(find_licenses)
    search_help_text = "A full lic_ id, the start of the customer's id, or words of the customer's name."
    sortable_by = ("license_type", "term", "price", "per_access")
    form = LicenseForm
    optional = frozenset({"starts_at"})
    add_fieldsets = ((None, {"fields": ("account", "requester_own_id", "requester_name")}), *TERMS, QUOTA)
    fieldsets = (
        (None, {"fields": ("identifier", "external_id", "account", "holder", "state")}),
        *TERMS,
        ("Since", {"fields": ("next_fee", "own_credit", "created_at", "updated_at", "revoked", "in_ledger")}),
    )
    covers = column("Covers", scope_text)
    term = column("Term", term_text, ordering="expires_at")
    price = column("Price", price_text, ordering="price_amount")
    per_access = column("Per access", access_price_text, ordering="access_amount")
    fee = column("Fee", fee_text, ordering="fee_amount")
    created_at = time_column("Issued", "created")
    updated_at = time_column("Changed", "updated")
    revoked = time_column("Revoked", "revoked_at", empty="no")
    autocomplete_fields = ("account",)
    rights = {
        "in_ledger": "analytics.view_ledgerentry",
        "own_credit": "analytics.view_wallet",
        **dict.fromkeys(QUOTA_FIELDS, "analytics.add_wallet"),
    }
    actions_detail = ("renew", "duplicate", "refund", "adjust", "revoke")
    refund_names = "of_license"

    def get_form(
        self, request: HttpRequest, obj: License | None = None, change: bool = False, **kwargs: object
    ) -> type[ModelForm]:
        form = super().get_form(request, obj, change, **kwargs)
        hidden: tuple[str, ...] = ()
        if obj is not None:  # a licence's requester cannot change, and its wallet has separate pages
            hidden = ("requester_own_id", "requester_name") + QUOTA_FIELDS
        elif not request.user.has_perm("analytics.add_wallet"):
            hidden = QUOTA_FIELDS
        for name in hidden:
            form.base_fields.pop(name, None)
        account = request_scope(request).account(request.GET.get("account", ""))
        if obj is None and account is not None and request.user.has_perm("licensing.view_site"):
            policies = form.base_fields["policy_ids"] = copy(form.base_fields["policy_ids"])
            policies.help_text = f"{policies.help_text}{policies_of_sites(account)}"
        return form

    def has_change_permission(self, request: HttpRequest, obj: License | None = None) -> bool:
        revoked = obj is not None and obj.status == LicenseStatus.REVOKED
        return not revoked and super().has_change_permission(request, obj)

    # --- Writing -----------------------------------------------------------------------------------------------------

    def create(self, request: HttpRequest, fields: Values) -> License:
        issued = license_services.issue_license(fields.pop("account").pk, fields)
        if (quota := Quota.from_fields(admin_request(request).cleaned)) is not None:
            quota.open_wallet(issued)
        return issued

    def response_post_save_add(self, request: HttpRequest, obj: License) -> HttpResponseRedirect:
        """Show the licence whose quota was sold: its page links to the wallet."""
        if Quota.from_fields(admin_request(request).cleaned) is None:
            return super().response_post_save_add(request, obj)
        return redirect(change_url(obj))

    def confirmation(self, request: HttpRequest, before: License | None, saved: License) -> FormConfirmation | None:
        return license_confirmation(
            before,
            saved,
            admin_request(request).booked_before,
            Quota.from_fields(admin_request(request).cleaned),
            is_new=before is None and saved.requester.created >= saved.created,
        )

    def try_saving(self, request: HttpRequest, form: ServiceForm, obj: License | None) -> License | None:
        if obj:
            entries = LedgerEntry.objects.filter(license=obj)
        else:
            entries = LedgerEntry.objects.none()
        admin_request(request).booked_before = set(entries.values_list("pk", flat=True))
        return super().try_saving(request, form, obj)

    def locked(self, obj: License) -> License:
        return license_services.lock_license(obj)

    def save_form(self, request: HttpRequest, form: ModelForm, change: bool) -> License:
        admin_request(request).cleaned = form.cleaned_data
        return super().save_form(request, form, change)

    def update(self, request: HttpRequest, obj: License, fields: Values) -> License:
        return license_services.update_license(obj, fields)

    @confirmed_action("Revoke", "block", "revoke", danger=True)
    def revoke(self, request: HttpRequest, license_: License) -> Confirmation:
        effects = [
            f"From the next check on {license_.requester} no longer has it, in every process: rules that want the "
            f"type {license_.license_type} or a valid licence do not match by it.",
            "It charges nothing per access, so no charges end.",
        ]
        if license_.access_amount is not None:
            effects[1] = f"No access is charged by it any more ({access_price_text(license_)} each until now)."
        if license_.next_fee_at is not None:
            effects.append("No further fee is charged.")
        effects += unused_refills(license_.requester, "The quota of {} goes on refilling: {}.", license_)
        effects += [
            "Its charges stay in the ledger. Refund them separately.",
            "This cannot be undone. Issue another licence instead.",
        ]
        return Confirmation(
            title=f"Revoke the licence {license_.license_type} of {license_.requester}?",
            facts=[
                ("Account", str(license_.account)),
                ("Customer", f"{license_.requester} ({license_.requester.requester_id})"),
                ("Covers", scope_text(license_)),
                ("Term", term_text(license_)),
                ("State", license_.state(timezone.now())),
                ("Price", price_text(license_)),
                ("Fee", fee_text(license_)),
            ],
            effects=effects,
            button="Revoke it",
            perform=partial(license_services.revoke_license, license_),
            done=f"The licence {license_.license_type} of {license_.requester} is revoked.",
        )

    def hidden_actions(self, license_: License) -> list[str]:
        return ["revoke"] if license_.status == LicenseStatus.REVOKED else []

    def refundable_charge(self, license_: License) -> RefundableCharge | None:
        if not license_.price_amount:
            return None
        return RefundableCharge(license_.account_id, Charge("license", license_.pk), license_.price_currency or "")

    def about(self, license_: License) -> str:
        return f"licence of type {license_.license_type}, {term_text(license_)}"

    # --- Showing -----------------------------------------------------------------------------------------------------

    @display(description="State", label={"active": "success", "expired": "default", "revoked": "danger"})
    def state(self, license_: License) -> str:
        return license_.state(timezone.now())

    @display(description="Customer")
    def holder(self, license_: License) -> str:
        return format_html("{} ({})", link_to(license_.requester), license_.requester.requester_id)

    @display(description="Quota or credit of its own", empty_value="none")
    def own_credit(self, license_: License) -> str | None:
        """Link to the licence's wallets, with what is left and refilled."""
        wallets = Wallet.objects.filter(license=license_).order_by("created", "pk")
        rows = ((change_url(book.wallet), wallet_in_words(book.wallet)) for book in as_of(wallets, timezone.now()))
        return format_html_join(" · ", '<a class="text-link" href="{}">{}</a>', rows) or None

    @display(description="Next fee")
    def next_fee(self, license_: License) -> str:
        if license_.next_fee_at:
            return f"{fee_text(license_)}, next on {time_in_words(license_.next_fee_at)}"
        return fee_text(license_)

    @display(description="In the ledger")
    def in_ledger(self, license_: License) -> str:
        entries = list_url(LedgerEntry, requester__id__exact=str(license_.requester_id))
        return text_link(entries, "Entries of this customer")


def policies_of_sites(account: Account) -> str:
    """Return which policies cover each of the newest sites; empty if there is one site or none."""
    sites = Site.objects.filter(account=account).order_by("-created", "-pk").prefetch_related("rules")[:MAX_SITES]
    hosts = []
    for site in sites:
        policies = dict.fromkeys(rule.policy_id for rule in site.ordered_rules if rule.policy_id)
        if policies:
            hosts.append(f"{site.host}: {', '.join(policies)}")
    if len(sites) < 2 or not hosts:
        return ""
    return f" The policies of a site cover its pages alone: {'; '.join(hosts)}."
