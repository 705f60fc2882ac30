"""The button *Refund* of what was booked: an adjustment that takes it back, prefilled, to be changed and confirmed."""

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
    """For a ScopedAdmin with `refund` among its `actions_detail`."""

    refund_names: ClassVar[str]  # the form's field that names what is refunded, such as "of_license"

    def booked(self, obj: ModelT) -> tuple[Decimal, str] | None:
        """What it earned, and in which currency; None if nothing."""
        raise NotImplementedError

    def refund_fields(self, obj: ModelT) -> dict[str, str]:
        """Further fields of the form, beside the account, the amount and the reason."""
        return {self.refund_names: str(obj.pk)}

    def has_refunding_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        if not request.user.has_perm("analytics.add_ledgerentry"):
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
        fields = {
            "account": str(getattr(obj, "account_id", "")),
            "amount": plain(-amount),
            "currency": currency,
            "description": f"Refund of {obj.pk}",
            **self.refund_fields(obj),
        }
        return redirect(f"{reverse('admin:analytics_ledgerentry_add')}?{urlencode(fields)}")
