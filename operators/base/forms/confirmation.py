"""The confirmation page before dangerous actions, which lists what is affected."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import wraps
from typing import Protocol, TypeVar, cast

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

from operators.base.forms.asking import CONFIRMED, Question, ask
from operators.base.forms.stale_forms import OPENED, stale_message, state_digest
from operators.base.links import change_url
from operators.base.mixins import AdminMixin, FormPage, ModelT, ReopenedForm, derive_form
from operators.base.pages import page
from operators.base.refusals import REFUSALS, add_refusal, refusal

FieldsT = TypeVar("FieldsT")  # the form's cleaned data, as a TypedDict


class Current(Protocol):
    def __call__(self, *, lock: bool) -> Mapping[str, object]:
        """Return the object's values that a form changes; lock it until the transaction ends."""


def confirm(
    request: HttpRequest,
    model_admin: AdminMixin[ModelT],
    *,
    obj: ModelT,
    title: str,
    effects: Sequence[str],
    button: str,
    perform: Callable[[FieldsT], str | HttpResponse],
    form: type[forms.Form] | None = None,
    initial: Mapping[str, object] | None = None,
    facts: Sequence[tuple[str, str]] = (),
    danger: bool = False,
    current: Current | None = None,
    question: Callable[[FieldsT], Question] | None = None,
) -> HttpResponse:
    """Show the page; once confirmed, call `perform`, which returns a message for the next page or a response.

    `effects` are sentences about the consequences, `facts` pairs of label and value; `danger` marks an irreversible
    action. Without `button` nothing can be confirmed. `perform` receives the cleaned data of `form`. Errors of the
    service are shown on the page.

    If the values of `current` are others than when the page was opened, nothing is saved. With `question`, another
    page asks about what was filled in, after `perform` was tried and rolled back.
    """
    back = change_url(obj)
    reopened = derive_form(form or forms.Form, ReopenedForm)
    bound = reopened(request.POST if request.method == "POST" else None, initial=dict(initial or {}))
    if request.method == "POST" and bound.is_valid():
        asks = question is not None and CONFIRMED not in request.POST
        try:
            with transaction.atomic() if asks or current is not None else nullcontext():
                if current is not None and state_digest(current(lock=True)) != request.POST.get(OPENED):
                    raise ValidationError(stale_message(obj))
                done = perform(cast(FieldsT, bound.cleaned_data))
                if asks:
                    transaction.set_rollback(True)
        except REFUSALS as error:
            add_refusal(bound, refusal(error, {}))
        else:
            if question is not None and asks:
                return ask(request, model_admin, obj, question(cast(FieldsT, bound.cleaned_data)))
            if isinstance(done, HttpResponse):
                return done
            messages.success(request, done)
            return redirect(back)
    opened = request.POST.get(OPENED)
    if current is not None and request.method != "POST":
        opened = state_digest(current(lock=False))
    return page(
        request,
        model_admin,
        "operators/confirm.html",
        title=title,
        original=obj,
        effects=effects,
        facts=facts,
        button=button,
        variant="danger" if danger else "primary",
        form=bound,
        back=back,
        **{OPENED: opened},
    )


class Confirmation(Struct, frozen=True, kw_only=True):
    """The question that an action asks before it calls `perform` (see `confirm`).

    `perform` receives the cleaned data of `form`, if there is one. It may return the page to show next. Otherwise the
    next page shows its message or, if it returns something else, `done`. That page is the object's, or `next_page`.
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
    question: Callable[..., Question] | None = None


def confirmed_action(
    description: str, icon: str, url_path: str, *, permission: str = "changing", danger: bool = False
) -> Callable[[Callable[..., Confirmation | HttpResponse]], Action]:
    """Decorate a method that returns what to ask before an action on an object, or a page to show instead.

    The button of an action that ends something is red (`danger`).
    """
    variant = ActionVariant.DANGER if danger else ActionVariant.DEFAULT

    def decorate(method: Callable[..., Confirmation | HttpResponse]) -> Action:
        @wraps(method)
        def view(model_admin: FormPage[ModelT], request: HttpRequest, object_id: str) -> HttpResponse:
            obj = model_admin.require_object(request, object_id)
            question = method(model_admin, request, obj)
            if isinstance(question, HttpResponse):
                return question

            def perform(fields: Mapping[str, object]) -> str | HttpResponse:
                done = question.perform() if question.form is None else question.perform(fields)
                if isinstance(done, HttpResponse):
                    return done
                message = done if isinstance(done, str) else question.done
                if not question.next_page:
                    return message
                messages.success(request, message)
                return redirect(question.next_page)

            return confirm(
                request,
                model_admin,
                obj=obj,
                title=question.title,
                effects=question.effects,
                button=question.button,
                perform=perform,
                form=question.form,
                initial=question.initial,
                facts=question.facts,
                danger=danger,
                current=question.current,
                question=question.question,
            )

        return action(
            description=description, icon=icon, permissions=[permission], url_path=url_path, variant=variant
        )(view)

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
