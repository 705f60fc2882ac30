"""The forms to add, edit and merge customers; the pages are in `customers`."""

from collections.abc import Mapping

from django import forms
from unfold.widgets import (
    UnfoldAdminEmailInputWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
)

from accounts.models import Account
from accounts.plans import epochs
from licensing.requesters import services
from licensing.requesters.models import Requester
from licensing.requesters.serializers import MAX_NOTES
from licensing.requesters.services import customers_named
from operators.base.fields import is_untouched, text_field
from operators.base.scope import Scope
from operators.base.suggesting import SCRIPT, Kind, with_suggestions


class Notes(forms.CharField):
    """A text of several lines, whose ends browsers send as CRLF."""

    def to_python(self, value: object) -> str:
        return (super().to_python(value) or "").replace("\r\n", "\n")


class CustomerForm(forms.Form):
    name = text_field("Name", required=False)
    email = forms.EmailField(label="E-mail", max_length=254, required=False, widget=UnfoldAdminEmailInputWidget)
    notes = Notes(max_length=MAX_NOTES, required=False, widget=UnfoldAdminTextareaWidget)


class EditForm(CustomerForm):
    """Its cleaned data lack the fields that nobody touched, which stay as stored."""

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or self.cleaned_data
        return {name: value for name, value in cleaned.items() if not is_untouched(self[name])}


def stored_values(requester: Requester, *, lock: bool) -> dict[str, object]:
    """Return what EditForm changes, as stored; lock it until the transaction ends."""
    if lock:
        epochs.hold(requester.account_id)
    stored = services.get(requester.account_id, requester.requester_id, lock=lock)
    return forms.model_to_dict(stored, fields=EditForm.base_fields)


class MergeForm(forms.Form):
    into = text_field("Into", "The customer to merge into: type its name, and choose it.")

    suggests = True

    class Media:
        js = (SCRIPT,)


def merge_form(account_id: str) -> type[MergeForm]:
    """Return the form with suggestions of the account's customers."""
    fields = with_suggestions(MergeForm.base_fields, {"into": Kind.REQUESTER}, account_id)
    return type("MergeIntoForm", (MergeForm,), fields)


class NewCustomerForm(CustomerForm):
    account = forms.ModelChoiceField(Account.objects.none(), widget=UnfoldAdminSelectWidget)
    requester_id = text_field(
        "Customer's own id", "The id in your own system, as sent with checks. It cannot be changed."
    )

    field_order = ("account", "requester_id")

    def __init__(self, data: Mapping[str, str] | None, *, scope: Scope) -> None:
        super().__init__(data, initial={"account": scope.sole_account()})
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
