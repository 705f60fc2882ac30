"""The buttons *Refund* and *Adjust* of what was booked: an adjustment, prefilled, to be changed and confirmed.

A refund takes back what was earned; any other adjustment leaves the amount to be entered.
"""

from decimal import Decimal
from typing import ClassVar
from urllib.parse import urlencode

from django.contrib.admin.utils import unquote
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from unfold.decorators import action

from kit.values.amounts import plain
from operators.base.mixins import AdminMixin, ModelT


class RefundButton(AdminMixin[ModelT]):
    """For a ScopedAdmin with `refund` and `adjust` among its `actions_detail`."""

    refund_names: ClassVar[str]  # the form's field that names what it is about, such as "of_license"

    def booked(self, obj: ModelT) -> tuple[Decimal, str] | None:
        """What it earned, and in which currency; None if nothing."""
        raise NotImplementedError

    def refund_fields(self, obj: ModelT) -> dict[str, str]:
        """Further fields of the form, beside the account, the amount and the reason."""
        return {self.refund_names: str(obj.pk)}

    def has_adjusting_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return request.user.has_perm("analytics.add_ledgerentry")

    def has_refunding_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        if not self.has_adjusting_permission(request):
            return False
        if object_id is None:
            return True
        obj = self.get_object(request, unquote(object_id))
        return obj is not None and self.booked(obj) is not None

    @action(description="Refund", icon="undo", permissions=["refunding"], url_path="refund")
    def refund(self, request: HttpRequest, object_id: str) -> HttpResponse:
        obj = self.get_object(request, unquote(object_id))
        earned = None if obj is None else self.booked(obj)
        if obj is None or earned is None:
            raise Http404
        amount, currency = earned
        return self.adjustment(obj, amount=plain(-amount), currency=currency, description=f"Refund of {obj.pk}")

    @action(description="Adjust", icon="tune", permissions=["adjusting"], url_path="adjust")
    def adjust(self, request: HttpRequest, object_id: str) -> HttpResponse:
        obj = self.get_object(request, unquote(object_id))
        if obj is None:
            raise Http404
        earned = self.booked(obj)
        currency = {"currency": earned[1]} if earned is not None else {}
        return self.adjustment(obj, **currency, description=f"Adjustment of {obj.pk}")

    def adjustment(self, obj: ModelT, **fields: str) -> HttpResponse:
        """The form of an adjustment about the object."""
        filled_in = {"account": str(getattr(obj, "account_id", "")), **fields, **self.refund_fields(obj)}
        return redirect(f"{reverse('admin:analytics_ledgerentry_add')}?{urlencode(filled_in)}")
