"""The confirmation page before dangerous actions, which lists what is affected."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import wraps
from typing import Protocol

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html
from msgspec import Struct
from unfold.dataclasses import Action
from unfold.decorators import action
from unfold.enums import ActionVariant

from operators.base.forms.confirmed_form import CONFIRMED, FormConfirmation, confirm_form
from operators.base.forms.stale_forms import OPENED, stale_message, state_digest
from operators.base.links import change_url
from operators.base.mixins import AdminMixin, FormPage, ModelT, ReopenedForm, derive_form
from operators.base.pages import page
from operators.base.refusals import REFUSALS, add_refusal, refusal


class Current(Protocol):
    def __call__(self, *, lock: bool) -> Mapping[str, object]:
        """Return the object's values that a form changes; lock it until the transaction ends."""


class Confirmation(Struct, frozen=True, kw_only=True):
    """The confirmation page of an action, which then calls `perform`. Without `button` it cannot be confirmed.

    `effects` are sentences about the consequences, `facts` pairs of label and value. `perform` receives the cleaned
    data of `form`, if there is one. It may return the page to show next. Otherwise the next page shows its message or,
    if it returns something else, `done`. That page is the object's, or `next_page`.

    If the values of `current` are others than when the page was opened, nothing is saved. With `form_confirmation`,
    another page asks about what was filled in, after `perform` was tried and rolled back.
    """

    title: str
    effects: Sequence[str]
    button: str
    perform: Callable[..., object]
    done: str = ""
    next_page: str = ""  # URL name
    facts: Sequence[tuple[str, str]] = ()
    form: type[forms.Form] | None = None
    initial: Mapping[str, object] = {}
    current: Current | None = None
    form_confirmation: Callable[..., FormConfirmation] | None = None


def confirm(
    request: HttpRequest,
    model_admin: AdminMixin[ModelT],
    obj: ModelT,
    confirmation: Confirmation,
    *,
    danger: bool = False,
) -> HttpResponse:
    """Show the page, with the service's errors. Once confirmed, carry the action out. `danger`: a red button."""
    sent = request.POST if request.method == "POST" else None
    form = derive_form(confirmation.form or forms.Form, ReopenedForm)(sent, initial=dict(confirmation.initial))
    opened = request.POST.get(OPENED)
    if sent is not None and form.is_valid():
        try:
            return carry_out(request, model_admin, obj, confirmation, form)
        except REFUSALS as error:
            add_refusal(form, refusal(error, {}))
    elif sent is None and confirmation.current is not None:
        opened = state_digest(confirmation.current(lock=False))
    return page(
        request,
        model_admin,
        "operators/confirm.html",
        title=confirmation.title,
        original=obj,
        effects=confirmation.effects,
        facts=confirmation.facts,
        button=confirmation.button,
        variant="danger" if danger else "primary",
        form=form,
        **{OPENED: opened},
    )


def carry_out(
    request: HttpRequest, model_admin: AdminMixin[ModelT], obj: ModelT, confirmation: Confirmation, form: forms.Form
) -> HttpResponse:
    """Perform the action and return the next page, or the one that asks about what was filled in."""
    form_confirmation = None if CONFIRMED in request.POST else confirmation.form_confirmation
    with transaction.atomic() if form_confirmation or confirmation.current else nullcontext():
        current = confirmation.current
        if current is not None and state_digest(current(lock=True)) != request.POST.get(OPENED):
            raise ValidationError(stale_message(obj))
        done = confirmation.perform() if confirmation.form is None else confirmation.perform(form.cleaned_data)
        if form_confirmation is not None:
            transaction.set_rollback(True)
    if form_confirmation is not None:
        return confirm_form(request, model_admin, obj, form_confirmation(form.cleaned_data))
    if isinstance(done, HttpResponse):
        return done
    messages.success(request, done if isinstance(done, str) else confirmation.done)
    return redirect(confirmation.next_page or change_url(obj))


def confirmed_action(
    description: str, icon: str, url_path: str, *, permission: str = "changing", danger: bool = False
) -> Callable[[Callable[..., Confirmation | HttpResponse]], Action]:
    """Decorate a method that returns what to ask before an action on an object, or a page to show instead.

    The button of an action that ends something is red (`danger`).
    """

    def decorate(method: Callable[..., Confirmation | HttpResponse]) -> Action:
        @action(
            description=description,
            icon=icon,
            permissions=[permission],
            url_path=url_path,
            variant=ActionVariant.DANGER if danger else ActionVariant.DEFAULT,
        )
        @wraps(method)
        def view(model_admin: FormPage[ModelT], request: HttpRequest, object_id: str) -> HttpResponse:
            obj = model_admin.require_object(request, object_id)
            confirmation = method(model_admin, request, obj)
            if isinstance(confirmation, HttpResponse):
                return confirmation
            return confirm(request, model_admin, obj, confirmation, danger=danger)

        return view

    return decorate


def with_typed_name(expected: str, form: type[forms.Form] = forms.Form) -> type[forms.Form]:
    """Return the form with a field `name`, which is valid only if the name is typed there."""

    def check(typed: str) -> None:
        if typed != expected.strip():
            raise forms.ValidationError(f"This is not the name. Type {expected}.")

    name = forms.CharField(
        label="Name",
        help_text=format_html("Type {} to confirm.", expected),
        validators=[check],
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    return type(form.__name__, (form,), {"name": name})
