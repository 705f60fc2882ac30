"""Buttons that add, edit, merge and erase customers."""

from collections.abc import Mapping
from functools import partial

from django import forms
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import action
from unfold.widgets import UnfoldAdminEmailInputWidget

from accounts.models import Account
from accounts.plans import epochs
from analytics.models import Payment, Statement
from analytics.payments.models import PaymentKind
from kit.values.currencies import in_full
from kit.values.metadata import MAX_TEXT
from licensing.customers import erasure, merging
from licensing.licenses.models import License
from licensing.requesters import services
from licensing.requesters.models import Requester
from licensing.requesters.serializers import MAX_NOTES
from licensing.requesters.services import customers_named
from operators.base.fields import is_untouched, text_field
from operators.base.forms.confirmation import Confirmation, confirmed_action, with_typed_name
from operators.base.forms.confirmed_form import FormConfirmation
from operators.base.links import link_to_list, list_url
from operators.base.mixins import StyledForm
from operators.base.model_admin import ScopedAdmin
from operators.base.pages import page
from operators.base.refusals import REFUSALS, add_refusal, refusal
from operators.base.rights import right
from operators.base.scope import Scope, request_scope
from operators.base.suggesting import SCRIPT, SuggestionKind, with_suggestions
from operators.customers.arrears import merge_warnings, unpaid_units
from operators.customers.balances import coming_fees, merged_facts, obligations, what_it_has


class Notes(forms.CharField):
    """A text of several lines, whose ends browsers send as CRLF."""

    def to_python(self, value: object) -> str:
        return (super().to_python(value) or "").replace("\r\n", "\n")


class CustomerForm(StyledForm, forms.Form):
    name = text_field("Name", required=False)
    email = forms.EmailField(label="E-mail", max_length=254, required=False, widget=UnfoldAdminEmailInputWidget)
    address = Notes(
        label="Address on statements",
        help_text="Printed below the name, in as many lines, such as the street, the city and the VAT id.",
        max_length=MAX_TEXT,
        required=False,
        widget=forms.Textarea,
    )
    notes = Notes(max_length=MAX_NOTES, required=False, widget=forms.Textarea)


class EditForm(CustomerForm):
    """Its cleaned data lack the fields that nobody touched, which stay as stored."""

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or self.cleaned_data
        return {name: value for name, value in cleaned.items() if not is_untouched(self[name])}


def stored_values(requester: Requester, *, lock: bool) -> dict[str, object]:
    """Return what EditForm changes, as stored; lock it until the transaction ends."""
    if lock:
        epochs.lock_epoch(requester.account_id)
    stored = services.get_requester(requester.account_id, requester.requester_id, lock=lock)
    return editable_values(stored)


def editable_values(requester: Requester) -> dict[str, object]:
    """Return the values of EditForm. The address is metadata, as `address`."""
    fields = forms.model_to_dict(requester, fields=EditForm.base_fields)
    return {**fields, "address": requester.metadata.get("address")}


def as_fields(given: Mapping[str, object]) -> dict[str, object]:
    """Return the form's values as fields of the service."""
    fields = {name: value or None for name, value in given.items() if name != "address"}
    return {**fields, "metadata": {"address": given["address"] or None}} if "address" in given else fields


class MergeForm(forms.Form):
    into = text_field("Into", "The customer to merge into: type its name, and choose it.")

    suggests = True

    class Media:
        js = (SCRIPT,)


def merge_form(account_id: str) -> type[MergeForm]:
    """Return the form with suggestions of the account's customers."""
    fields = with_suggestions(MergeForm.base_fields, {"into": SuggestionKind.REQUESTER}, account_id)
    return type("MergeIntoForm", (MergeForm,), fields)


class NewCustomerForm(CustomerForm):
    account = forms.ModelChoiceField(Account.objects.none())
    requester_id = text_field(
        "Customer's own id", "The id in your own system, as sent with checks. It cannot be changed."
    )

    field_order = ("account", "requester_id")

    def __init__(self, data: Mapping[str, str] | None, *, scope: Scope) -> None:
        super().__init__(data, initial={"account": scope.only_visible_account_id()})
        field = self.fields["account"]
        if isinstance(field, forms.ModelChoiceField):
            field.queryset = scope.accounts()

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or self.cleaned_data
        account, own_id, name = (cleaned.get(one) for one in ("account", "requester_id", "name"))
        if account is not None and name and own_id and (named := customers_named(account.pk, name)):
            known = " or ".join(one.requester_id for one in named)
            self.add_error("name", f"{name} is a customer already: {known}. Open it, or give this one another name.")
        return cleaned


KEEP_BOOKS = (
    "Tax law makes you keep invoices and payments with the customer's name, often for ten years. Print or export the "
    "{} first: afterwards they name the pseudonym."
)

MAX_NAMED = 20  # merged customers
FEES_GO_ON = "Fees go on, and are charged to the pseudonym, whom you cannot bill: {}. To end them, revoke {} first."

MERGED_MONEY = (
    "What was paid in advance for credit that moves goes with it: as a transfer, which statements show. What is owed, "
    "and any further money paid in advance, stays with {}."
)


def going_fees(requester: Requester) -> list[SafeString]:
    """Warn of fees that an erasure does not end."""
    fees = coming_fees(requester)
    if fees == "none":
        return []
    licenses = link_to_list(License, "the licences", requester__id__exact=str(requester.pk))
    return [format_html(FEES_GO_ON, fees, licenses)]


def going_merged_ones(requester: Requester) -> list[str]:
    """Name the customers that an erasure erases, too."""
    names = [f"{one} ({one.requester_id})" for one in requester.merged_ones if not one.is_erased]
    if not names:
        return []
    more = [f"{len(names) - MAX_NAMED:,} more"] if len(names) > MAX_NAMED else []
    return [f"Customers that were merged into it are erased, too: {', '.join(names[:MAX_NAMED] + more)}."]


def transfers_from(requester: Requester) -> list[Payment]:
    """Return the payouts by which merges took money from the customer."""
    payouts = Payment.objects.filter(account=requester.account_id, requester=requester, kind=PaymentKind.PAYOUT)
    return [payout for payout in payouts.filter(reverses=None).order_by("pk") if payout.is_transfer]


class CustomerChanges(ScopedAdmin[Requester]):
    """Adds `add_customer`, `edit`, `merge` and `erase` to the admin of customers."""

    has_adding_permission = right("licensing.add_requester")

    @action(description="Add customer", icon="person_add", permissions=["adding"], url_path="add-customer")
    def add_customer(self, request: HttpRequest) -> HttpResponse:
        scope = request_scope(request)
        form = NewCustomerForm(request.POST if request.method == "POST" else None, scope=scope)
        if form.is_bound and form.is_valid():
            fields = dict(form.cleaned_data)
            account = fields.pop("account")
            given = as_fields({name: value for name, value in fields.items() if value})
            try:
                added = services.create_requester(account.pk, given)
            except REFUSALS as error:
                add_refusal(form, refusal(error, {"id": "requester_id"}))
            else:
                self.message_user(request, f"{added} is added.")
                return redirect("admin:licensing_requester_change", added.pk)
        return page(
            request,
            self,
            "operators/confirm.html",
            title="Add a customer",
            form=form,
            button="Add",
            back=list_url(Requester),
        )

    @confirmed_action("Edit", "edit", "edit")
    def edit(self, request: HttpRequest, requester: Requester) -> Confirmation:
        def perform(fields: dict[str, str]) -> str:
            saved = services.update_requester(requester, as_fields(fields))
            return f"{saved} is saved."

        return Confirmation(
            title=f"Edit {requester}",
            facts=[("Customer's own id", requester.requester_id)],
            effects=["Lists, statements and the search show the name. Statements print the address."],
            form=EditForm,
            initial={name: value or "" for name, value in editable_values(requester).items()},
            button="Save",
            perform=perform,
            current=partial(stored_values, requester),
        )

    @confirmed_action("Merge", "merge", "merge", danger=True)
    def merge(self, request: HttpRequest, requester: Requester) -> Confirmation:
        held = obligations(requester, timezone.now())
        form = merge_form(requester.account_id)

        afterwards: list[tuple[str, str]] = []
        warnings: list[str] = []

        def perform(fields: dict[str, str]) -> HttpResponse:
            earlier = transfers_from(requester)
            before = merging.find_target(requester.account_id, fields["into"])
            unpaid = unpaid_units(requester) + unpaid_units(before)
            target = merging.merge(requester, fields["into"])
            warnings[:] = merge_warnings(unpaid, target)
            moved = [in_full(one.amount, one.currency) for one in transfers_from(requester) if one not in earlier]
            afterwards[:] = [
                ("Money transferred", ", ".join(moved) or "none"),
                ("Merged, afterwards", what_it_has(requester)),
                ("Into, afterwards", what_it_has(target)),
            ]
            transaction.on_commit(partial(finish, target))
            return redirect("admin:licensing_requester_change", target.pk)

        def finish(target: Requester) -> None:
            requester.merged_into = target
            merging.move_late_counts(requester)
            self.message_user(request, f"{requester} is merged into {target}.")

        def confirmation(fields: dict[str, str]) -> FormConfirmation:
            target = merging.find_target(requester.account_id, fields["into"])
            return FormConfirmation(
                title=f"Merge {requester} into {target}?",
                facts=[("Merged", what_it_has(requester)), ("Into", what_it_has(target)), *afterwards],
                effects=[MERGED_MONEY.format(requester), "This cannot be undone."],
                warnings=warnings,
                button="Merge them",
            )

        return Confirmation(
            title=f"Merge {requester} into another customer?",
            facts=[("Customer's own id", requester.requester_id), *held],
            effects=[
                "Licences, licence clients, wallets and limit counts move to the other customer.",
                f"Checks of {requester.requester_id} are then decided and recorded as the other customer's.",
                MERGED_MONEY.format(requester),
                "Earlier decisions, ledger entries and closed statements do not change.",
                "This cannot be undone.",
            ],
            form=with_typed_name(str(requester), form) if held else form,
            button="Merge",
            perform=perform,
            form_confirmation=confirmation,
        )

    @confirmed_action("Erase", "person_remove", "erase", danger=True)
    def erase(self, request: HttpRequest, requester: Requester) -> Confirmation:
        held = [*obligations(requester, timezone.now()), *merged_facts(requester).items()]

        statements = link_to_list(Statement, "statements", requester__id__exact=str(requester.pk))

        def perform(_fields: object = None) -> str:
            erased = erasure.begin_erasure(requester)
            transaction.on_commit(partial(erasure.finish_erasure, erased.pk))
            return f"The personal data was erased. What remains is listed under {erased.requester_id}."

        return Confirmation(
            title=f"Erase the personal data of {requester}?",
            facts=[("Customer's own id", requester.requester_id), *held],
            effects=[
                "Name, e-mail, notes, metadata and the context of decisions are erased everywhere, also in the audit "
                "log and in events; a pseudonym replaces the id.",
                "Decisions, totals, licences, wallets and the ledger remain under the pseudonym. Licence "
                "clients are revoked.",
                *going_merged_ones(requester),
                *going_fees(requester),
                *([format_html(KEEP_BOOKS, statements)] if held else []),
                "This cannot be undone.",
            ],
            form=with_typed_name(str(requester)) if held else None,
            button="Erase",
            perform=perform,
        )
