"""The buttons *Refund* and *Adjust* of a charge, and the list of its refunds.

Both open the form of an adjustment. *Refund* takes a positive amount and fills in the rest of the charge; *Adjust*
leaves the amount empty.
"""

from typing import ClassVar, NamedTuple

from django.contrib.admin.utils import unquote
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.decorators import action

from analytics.ledger.refunds import Balance, Charge, balances, refunds_of
from kit.values.currencies import in_full
from operators.base.figures.recent import filled_in
from operators.base.links import link_to
from operators.base.mixins import ModelT
from operators.base.model_admin import ScopedAdmin
from operators.base.rights import right
from operators.base.times import shown_time
from operators.base.typed_numbers import editable_amount

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
        charged = max(balance.original, balance.refundable)  # adjustments may have charged more
        refundable, charged_in_full = (in_full(amount, self.currency) for amount in (balance.refundable, charged))
        return f"{refundable} of {charged_in_full} is left to refund"

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
        return filled_in(
            "admin:analytics_ledgerentry_add", obj, {**fields, "description": reason, **self.refund_fields(obj)}
        )
