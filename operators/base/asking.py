"""A form of which some changes are saved only after a page that says what they will do."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.db import transaction
from django.db.models import Model
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from msgspec import Struct

from operators.base.fields import changed_values
from operators.base.frame import page
from operators.base.refusals import REFUSALS, add_refusal, refusal

EDIT = "_edit"  # the name of the buttons that do not save; their values say what they do instead
CONFIRMED = "confirmed"
SAVING = ("_save", "_continue", "_addanother")


class Question(Struct, frozen=True):
    """`effects` are sentences on what will happen, `facts` what it is about (label, value)."""

    title: str
    effects: Sequence[str]
    button: str
    facts: Sequence[tuple[str, str]] = ()
    warnings: Sequence[str] = ()


class AskingAdmin:
    """For a ServiceAdmin. `question` says what to ask before a form is saved; None saves it without asking.

    It is told what the service makes of the form, in a transaction that is then taken back. So what the service
    refuses is said before anything is asked.
    """

    def question(self, request: HttpRequest, before: Any, saved: Any) -> Question | None:
        """`before` is the object as it is stored, None for a new one; `saved` what it would be."""
        raise NotImplementedError

    def get_form(self: Any, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form: type[ModelForm] = super().get_form(request, obj, change, **kwargs)  # type: ignore[misc]
        admin = self

        class AskingForm(form):  # type: ignore[misc, valid-type]
            asked: Question | None = None

            def is_valid(self) -> bool:
                if self.data.get(EDIT) == "back":
                    self._errors = forms.utils.ErrorDict()
                    return False
                if not super().is_valid():
                    return False
                if CONFIRMED not in self.data:
                    self.asked = admin.foretold(request, self, obj)
                return self.asked is None and not self.errors

        return AskingForm

    def foretold(self: Any, request: HttpRequest, form: ModelForm, obj: Model | None) -> Question | None:
        """The question; None also where the service refuses the form, which then says so."""
        with transaction.atomic():
            try:
                saved = self.tried(request, form, obj)
                asked: Question | None = None if saved is None else self.question(request, obj, saved)
            except REFUSALS as error:
                add_refusal(form, refusal(error, self.api_names))
                asked = None
            transaction.set_rollback(True)
        return asked

    def tried(self: Any, request: HttpRequest, form: ModelForm, obj: Model | None) -> Model | None:
        request.cleaned = form.cleaned_data  # type: ignore[attr-defined]
        if obj is None:
            if request.new_id is None:  # type: ignore[attr-defined]
                return None
            return self.create(request, {**form.cleaned_data, "id": request.new_id})  # type: ignore[attr-defined]
        changed = changed_values(form)
        return self.update(request, obj, changed) if changed and self.update else None

    def render_change_form(self: Any, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        asked: Question | None = getattr(context["adminform"].form, "asked", None)
        if asked is None:
            response: HttpResponse = super().render_change_form(request, context, *args, **kwargs)  # type: ignore[misc]
            return response
        return page(
            request,
            self,
            "operators/ask.html",
            title=asked.title,
            original=kwargs.get("obj"),
            question=asked,
            carried=carried(request),
            save=pressed(request),
            edit=EDIT,
            confirmed=CONFIRMED,
        )


def carried(request: HttpRequest) -> list[tuple[str, str]]:
    """The fields of the form, to be sent again from another page."""
    own = {EDIT, CONFIRMED, "csrfmiddlewaretoken", *SAVING}
    return [(name, value) for name, values in request.POST.lists() if name not in own for value in values]


def pressed(request: HttpRequest) -> str:
    """The button that was to save."""
    return next((name for name in reversed(SAVING) if name in request.POST), "_save")
