"""Forms that show the effects of a change and ask before saving."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from django.db import transaction
from django.forms import BaseForm, ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from msgspec import Struct

from kit.values.timestamps import parse_timestamp, render_timestamp
from operators.base.links import change_url
from operators.base.mixins import EDIT, AdminMixin, ModelT, ServiceForm
from operators.base.model_admin import ServiceAdmin
from operators.base.pages import page
from operators.base.refusals import REFUSALS, add_refusal, refusal
from operators.base.requests import admin_request

CONFIRMED, PROMISED_AT = "confirmed", "promised_at"
SAVING = ("_save", "_continue", "_addanother")
FROM_CUSTOMER = {"requester_own_id", "of_requester"}  # fields that a customer's page fills in


class FormConfirmation(Struct, frozen=True):
    """A page that asks before a filled-in form is saved. `effects` are sentences, `facts` pairs of label and value.

    `promised_at` is when the balance was read that it promises, if it does.
    """

    title: str
    effects: Sequence[str]
    button: str
    facts: Sequence[tuple[str, str]] = ()
    warnings: Sequence[str] = ()
    promised_at: datetime | None = None


class ConfirmedFormAdmin(ServiceAdmin[ModelT]):
    """A ModelAdmin whose `confirmation` decides what to ask before saving; None saves without asking.

    The confirmation is based on what the service would save, in a transaction that is rolled back. So errors of the
    service are shown before anything is asked.
    """

    def confirmation(self, request: HttpRequest, before: ModelT | None, saved: ModelT) -> FormConfirmation | None:
        """Return what to ask; `before` is the stored object (None if new), `saved` the object as it would be."""
        raise NotImplementedError

    def is_confirmed(self, request: HttpRequest, form: BaseForm, obj: ModelT | None) -> bool:
        if CONFIRMED not in form.data:
            admin_request(request).confirmation = self.try_form(request, cast(ServiceForm, form), obj)
        return getattr(request, "confirmation", None) is None and not form.errors

    def try_form(self, request: HttpRequest, form: ServiceForm, obj: ModelT | None) -> FormConfirmation | None:
        """Return what to ask, or None for nothing or if the service rejects the form, which then shows the error."""
        confirmation = None
        with transaction.atomic():
            try:
                saved = self.try_saving(request, form, obj)
                confirmation = None if saved is None else self.confirmation(request, obj, saved)
            except REFUSALS as error:
                add_refusal(form, refusal(error, form.names_in_form()))
            transaction.set_rollback(True)
        return confirmation

    def try_saving(self, request: HttpRequest, form: ServiceForm, obj: ModelT | None) -> ModelT | None:
        """Save the object through the service; None if nothing changed."""
        admin_request(request).cleaned = form.cleaned_data
        if obj is None and admin_request(request).new_id is None:
            return None
        return self.write_form(request, form, obj)

    def response_post_save_add(self, request: HttpRequest, obj: ModelT) -> HttpResponseRedirect:
        """Lead back to the customer, if the customer's page opened the form."""
        requester = getattr(obj, "requester", None)
        is_from_customer = bool(FROM_CUSTOMER & request.GET.keys())
        if requester is None or not is_from_customer or not request.user.has_perm("licensing.view_requester"):
            return super().response_post_save_add(request, obj)
        return redirect(change_url(requester))

    def page_instead(self, request: HttpRequest, form: ModelForm, obj: ModelT | None) -> HttpResponse | None:
        confirmation: FormConfirmation | None = getattr(request, "confirmation", None)
        if confirmation is None:
            return super().page_instead(request, form, obj)
        return confirm_form(request, self, obj, confirmation)


def confirm_form(
    request: HttpRequest, model_admin: AdminMixin[ModelT], obj: ModelT | None, confirmation: FormConfirmation
) -> HttpResponse:
    """Return the page that asks, which submits the form again."""
    return page(
        request,
        model_admin,
        "operators/confirm_form.html",
        title=confirmation.title,
        original=obj,
        confirmation=confirmation,
        carried=carried_fields(request),
        promised_at=render_timestamp(confirmation.promised_at),
        save=pressed_button(request),
        edit=EDIT,
        confirmed=CONFIRMED,
    )


def carried_fields(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the form's fields, for another page to submit again."""
    own_names = {EDIT, CONFIRMED, PROMISED_AT, "csrfmiddlewaretoken", *SAVING}
    return [(name, value) for name, values in request.POST.lists() if name not in own_names for value in values]


def promised_at(request: HttpRequest) -> datetime | None:
    """Return when the balance was read that the confirmed page promised; None if it promised none."""
    if CONFIRMED not in request.POST:
        return None
    try:
        return parse_timestamp(request.POST.get(PROMISED_AT, ""))
    except ValueError:
        return None


def pressed_button(request: HttpRequest) -> str:
    """Return the name of the save button that was pressed."""
    return next((name for name in reversed(SAVING) if name in request.POST), "_save")
