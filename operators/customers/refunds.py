"""The buttons *Refund* and *Adjust*, and the list of refunds.

Both open the form of an adjustment. *Refund* takes a positive amount and fills in the rest of the charge; *Adjust*
leaves the amount empty. A customer's button *Refund* opens a page with the charges that can still be refunded.
"""

from typing import ClassVar, NamedTuple

from django.contrib.admin.utils import unquote
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.decorators import action

from analytics.ledger.refunds import (
    Balance,
    Charge,
    balance_of,
    balances,
    balances_of,
    charge_of,
    refunds_of,
    usage_id,
)
from analytics.models import AccessEvent, EntryType, LedgerEntry, WalletEntry
from kit.values.currencies import in_full
from licensing.access.history.queryset import ORDER_BY_TIME, HistoryQuerySet
from licensing.licenses.models import License
from licensing.requesters.models import Requester
from operators.base.fields import editable_amount
from operators.base.figures.recent import filled_in
from operators.base.links import change_url, link_to, list_url
from operators.base.lists import right
from operators.base.mixins import ModelT
from operators.base.model_admin import ScopedAdmin
from operators.base.pages import page
from operators.base.times import shown_time, time_in_words

ADD_ENTRY = "admin:analytics_ledgerentry_add"
MAX_REFUNDS = 20  # refunds shown; the ledger lists all
MAX_CHARACTERS = 500  # of a reason


class RefundableCharge(NamedTuple):
    """An account's charge in one currency."""

    account_id: str
    charge: Charge
    currency: str

    @property
    def balance(self) -> Balance:
        return balances([self.account_id], [self.charge]).get((self.charge, self.currency), Balance())

    def in_words(self) -> str:
        """Return text such as "0.03 USD of 0.05 USD is left to refund"."""
        balance = self.balance
        refundable, charged = (in_full(amount, self.currency) for amount in (balance.refundable, balance.charged))
        return f"{refundable} of {charged} is left to refund"

    def refunds(self) -> SafeString:
        """List the latest refunds with links, and what is left."""
        booked = refunds_of(self.account_id, self.charge).filter(currency=self.currency).order_by("-created", "-pk")
        rows = (
            (link_to(entry, in_full(entry.amount, entry.currency)), shown_time(entry.created), entry.description or "")
            for entry in booked[:MAX_REFUNDS]
        )
        listed = format_html_join("", "<div>{} on {} {}</div>", rows)
        return format_html("{}<div>{}.</div>", listed, self.in_words())


class RefundButton(ScopedAdmin[ModelT]):
    """Adds `refund` and `adjust`; list them in `actions_detail`."""

    refund_names: ClassVar[str]  # form field for the object's id, such as "of_license"

    def refundable_charge(self, obj: ModelT) -> RefundableCharge | None:
        """Return the object's charge, or None."""
        raise NotImplementedError

    def about(self, obj: ModelT) -> str:
        """Describe the charge for an adjustment's reason, which statements print."""
        raise NotImplementedError

    def refund_fields(self, obj: ModelT) -> dict[str, str]:
        """Return initial values besides account, amount and reason."""
        return {self.refund_names: str(obj.pk)}

    has_adjusting_permission = right("analytics.add_ledgerentry")

    def has_refunding_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        if not self.has_adjusting_permission(request):
            return False
        if object_id is None:
            return True
        obj = self.get_object(request, unquote(object_id))
        charged = None if obj is None else self.refundable_charge(obj)
        return charged is not None and charged.balance.refundable > 0

    @action(description="Refund", icon="undo", permissions=["refunding"], url_path="refund")
    def refund(self, request: HttpRequest, object_id: str) -> HttpResponse:
        obj = self.require_object(request, object_id)
        charged = self.refundable_charge(obj)
        if charged is None:
            raise Http404
        amount = editable_amount(charged.balance.refundable)
        return self.adjustment(obj, "Refund", is_refund="on", amount=amount, currency=charged.currency)

    @action(description="Adjust", icon="tune", permissions=["adjusting"], url_path="adjust")
    def adjust(self, request: HttpRequest, object_id: str) -> HttpResponse:
        obj = self.require_object(request, object_id)
        charged = self.refundable_charge(obj)
        currency = {"currency": charged.currency} if charged is not None else {}
        return self.adjustment(obj, "Adjustment", **currency)

    def adjustment(self, obj: ModelT, what: str, **fields: str) -> HttpResponse:
        """Redirect to an adjustment's form about the object; `what` begins its reason."""
        reason = f"{what}: {self.about(obj)}"[:MAX_CHARACTERS]
        return filled_in(ADD_ENTRY, obj, {**fields, "description": reason, **self.refund_fields(obj)})


def adjustment_title(saved: LedgerEntry, *, is_refund: bool) -> str:
    amount = in_full(saved.amount, saved.currency)
    return f"Refund {in_full(-saved.amount, saved.currency)}?" if is_refund else f"Book {amount}?"


def owed_in_words(saved: LedgerEntry) -> list[str]:
    """Say what a charge or a refund does to the customer's statement, which counts it when it is booked."""
    if saved.requester is None:
        return []
    change = "more" if saved.amount > 0 else "less"
    month = f"{saved.account.months.month_of(saved.created):%Y-%m}"
    amount = in_full(abs(saved.amount), saved.currency)
    return [f"{saved.requester} owes {amount} {change} on the statement of {month}."]


def earlier_refunds(charged: RefundableCharge, saved: LedgerEntry) -> list[str]:
    """Warn of refunds of the charge that are booked already: this one may be booked twice."""
    booked = refunds_of(charged.account_id, charged.charge).filter(currency=charged.currency).exclude(pk=saved.pk)
    latest = booked.order_by("-created", "-pk").first()
    if latest is None:
        return []
    amount = in_full(-latest.amount, latest.currency)
    return [f"{amount} of this charge was refunded already on {time_in_words(latest.created)}."]


def was_prepaid(saved: LedgerEntry) -> bool:
    """Whether the entry refunds a decision that a wallet in its currency paid."""
    if saved.amount > 0 or saved.decision_id is None:
        return False
    return WalletEntry.objects.filter(decision=saved.decision_id, type="spend", wallet__unit=saved.currency).exists()


# Reading only the newest licences and decisions bounds the cost; the ledger lists all.
MAX_LICENSES, MAX_DECISIONS = 200, 1_000
MAX_ENTRIES = 1_000  # of prices and fees
MAX_SHOWN = 50  # charges


def refundable_charges(requester: Requester) -> list[tuple[LedgerEntry, Balance]]:
    """Return the newest charges with something left to refund: prices and fees of licences, then accesses.

    Charges of customers merged into this one are included.
    """
    numbers = requester.numbers
    entries = [*price_entries(numbers), *access_entries(numbers)]
    balances_by_charge = balances_of(entries)
    refundable: dict[object, tuple[LedgerEntry, Balance]] = {}  # by charge and currency
    for entry in entries:
        balance = balance_of(entry, balances_by_charge)
        if balance is not None and balance.refundable:
            refundable.setdefault((charge_of(entry), entry.currency), (entry, balance))
    return list(refundable.values())


def price_entries(numbers: list[int]) -> list[LedgerEntry]:
    """Return the entries of the prices and fees of the requesters' newest licences, newest first."""
    licenses = License.objects.filter(requester__in=numbers).order_by("-pk").values_list("pk", flat=True)
    entries = LedgerEntry.objects.filter(
        license__in=list(licenses[:MAX_LICENSES]), decision__isnull=True, type__in=(EntryType.LICENSE, EntryType.FEE)
    )
    return list(entries.order_by("-created", "-pk")[:MAX_ENTRIES])


def access_entries(numbers: list[int]) -> list[LedgerEntry]:
    """Return the entries of the charges of the requesters' newest decisions, newest first."""
    decisions = HistoryQuerySet.covering(AccessEvent.objects.filter(requester__in=numbers).order_by(*ORDER_BY_TIME))
    charges = [usage_id(decision.pk) for decision in decisions[:MAX_DECISIONS]]
    return list(LedgerEntry.objects.filter(pk__in=charges).select_related("content").order_by("-created", "-pk"))


class RefundPage(ScopedAdmin[Requester]):
    """Adds `refund` and `charge` to the admin of customers; list them in `actions_detail`."""

    @action(description="Charge", icon="add_circle", permissions=["refunding"], url_path="charge")
    def charge(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Open the form of an adjustment about the customer."""
        requester = self.require_object(request, object_id)
        about = {"of_requester": requester.requester_id, "currency": requester.account.currency}
        return filled_in(ADD_ENTRY, requester, about)

    def has_refunding_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return request.user.has_perms(("analytics.view_ledgerentry", "analytics.add_ledgerentry"))

    @action(description="Refund", icon="undo", permissions=["refunding"], url_path="refund")
    def refund(self, request: HttpRequest, object_id: str) -> HttpResponse:
        requester = self.require_object(request, object_id)
        charges = refundable_charges(requester)
        return page(
            request,
            self,
            "operators/customers/refundable.html",
            title=f"Refund {requester}",
            original=requester,
            charges=charges[:MAX_SHOWN],
            has_more=len(charges) > MAX_SHOWN,
            ledger=list_url(LedgerEntry, requester__id__exact=str(requester.pk)),
            back=change_url(requester),
        )
