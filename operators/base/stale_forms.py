"""What keeps a form from undoing what somebody else changed while it was open.

The page carries a digest of what its form can change, as it was stored then. Before anything is saved that is compared
with the row under its lock, in the transaction of the write. Values are compared, not `updated`: some models have
none, and it moves with what the form does not show.
"""

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from django.db.models import Model
from django.forms import ModelForm, model_to_dict
from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString

from operators.base.fields import is_untouched
from operators.base.links import change_url

OPENED = "as_opened"  # the hidden field


class StaleFormGuard:
    """For a ModelAdmin that edits."""

    change_form_after_template = "operators/hidden_fields.html"

    def editable_state(self, obj: Any, fields: Iterable[str]) -> dict[str, Any]:
        """What a form with these fields can change of an object, as values of JSON or such as have one text each."""
        return model_to_dict(obj, fields=list(fields))

    def locked(self, obj: Any) -> Any:
        """The row as it is now, locked until the transaction ends; None if it is gone.

        A service that locks something before the row needs the same order here, or the two wait for each other.
        """
        return type(obj)._base_manager.select_for_update().filter(pk=obj.pk).first()

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> type[ModelForm]:
        form: type[ModelForm] = super().get_form(request, obj, change=change, **kwargs)  # type: ignore[misc]
        return form if obj is None else guarded(form, self, obj)

    def render_change_form(self: Any, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> HttpResponse:
        obj = kwargs.get("obj")
        if obj is not None and request.method == "POST":
            context[OPENED] = request.POST.get(OPENED)  # shown again with errors, the form stays as old as it is
        elif obj is not None and self.has_change_permission(request, obj):
            context[OPENED] = state_digest(self.editable_state(obj, context["adminform"].form.fields))
        response: HttpResponse = super().render_change_form(request, context, *args, **kwargs)  # type: ignore[misc]
        return response


def guarded(form: type[ModelForm], admin: StaleFormGuard, obj: Model) -> type[Any]:
    """The form class for an object that exists: valid only while that is what it was when the page was opened."""

    class GuardedForm(form):  # type: ignore[misc, valid-type]
        @cached_property
        def changed_data(self) -> list[str]:
            return [name for name in super().changed_data if not is_untouched(self[name])]

        def is_valid(self) -> bool:
            if not super().is_valid():
                return False
            now = admin.locked(obj)
            if now is not None and state_digest(admin.editable_state(now, self.fields)) == self.data.get(OPENED):
                return True
            self.add_error(None, told(obj))
            return False

    return GuardedForm


def state_digest(state: dict[str, Any]) -> str:
    return sha256(json.dumps(state, sort_keys=True, default=str).encode()).hexdigest()


def told(obj: Model) -> SafeString:
    return format_html(
        "Somebody changed this {} while you had it open. Nothing is saved, lest that be undone. "
        '<a class="underline" href="{}" target="_blank">Open it as it is now</a>, and make your change there.',
        obj._meta.verbose_name,
        change_url(obj),
    )
