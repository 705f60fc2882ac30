"""Forms that a customer's page opens return to it."""

from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import redirect

from operators.base.links import change_url
from operators.base.mixins import AdminMixin, ModelT

FROM_CUSTOMER = {"requester_own_id", "of_requester"}  # fields that a customer's page fills in


class ReturnsToCustomer(AdminMixin[ModelT]):
    """Leads back to the customer after saving, if the customer's page opened the form of a new object."""

    def response_post_save_add(self, request: HttpRequest, obj: ModelT) -> HttpResponseRedirect:
        requester = getattr(obj, "requester", None)
        is_from_customer = bool(FROM_CUSTOMER & request.GET.keys())
        if requester is None or not is_from_customer or not request.user.has_perm("licensing.view_requester"):
            return super().response_post_save_add(request, obj)
        return redirect(change_url(requester))
