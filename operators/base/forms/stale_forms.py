"""Guards against overwriting what somebody else changed while a form was open.

The page contains a digest of the editable values. Before saving, it is compared with the row under its lock, in the
same transaction. It uses values rather than `updated`, because some models lack that and others change it for fields
the form does not show.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256

from django.db.models import Model
from django.forms import BaseForm, ModelForm, model_to_dict
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.utils.safestring import SafeString

from operators.base.fields import is_untouched
from operators.base.links import change_url
from operators.base.mixins import FormPage, ModelT, ReopenedForm, derive_form
from operators.base.refusals import add_refusal

OPENED = "as_opened"  # hidden field


class StaleFormGuard(FormPage[ModelT]):
    """A mixin for ModelAdmins that rejects a form if the object changed while it was open."""

    change_form_after_template = "operators/hidden_fields.html"

    def editable_state(self, obj: ModelT, fields: Iterable[str]) -> dict[str, object]:
        """Return the object's values that a form with these fields can change, as JSON or values with a
        unique text.
        """
        return model_to_dict(obj, fields=list(fields))

    def locked(self, obj: ModelT) -> ModelT | None:
        """Return the current row, locked until the transaction ends; None if it was deleted.

        If a service locks something else first, override this with the same order to avoid deadlocks.
        """
        return type(obj)._base_manager.select_for_update().filter(pk=obj.pk).first()

    def get_form(
        self, request: HttpRequest, obj: ModelT | None = None, change: bool = False, **kwargs: object
    ) -> type[ModelForm]:
        form = super().get_form(request, obj, change=change, **kwargs)
        return derive_form(form, GuardedForm, admin=self, request=request, obj=obj)

    def is_confirmed(self, request: HttpRequest, form: BaseForm, obj: ModelT | None) -> bool:
        """Whether to save the valid form, rather than to show a confirmation first (`page_instead`)."""
        return True

    def form_context(self, request: HttpRequest, form: ModelForm, obj: ModelT | None) -> dict[str, object]:
        context = super().form_context(request, form, obj)
        if obj is not None and request.method == "POST":
            context[OPENED] = request.POST.get(OPENED)  # a form shown again with errors keeps the original digest
        elif obj is not None and self.has_change_permission(request, obj):
            context[OPENED] = state_digest(self.editable_state(obj, form.fields))
        return context


class GuardedForm(ReopenedForm):
    """Mixin for a form that shows the service's errors.

    It is valid if it is to be saved: Django's view asks nothing else. So `is_valid` also locks the row, which must not
    have changed meanwhile, and is False if it must be confirmed first.
    """

    admin: StaleFormGuard[Model]
    request: HttpRequest
    obj: Model | None

    @cached_property
    def changed_data(self) -> list[str]:
        return [name for name in super().changed_data if self.obj is None or not is_untouched(self[name])]

    def clean(self) -> dict[str, object] | None:
        cleaned: dict[str, object] | None = super().clean()
        if refused := getattr(self.request, "refused", None):
            add_refusal(self, refused)
        return cleaned

    def is_valid(self) -> bool:
        if not super().is_valid():
            return False
        if self.obj is not None:
            now = self.admin.locked(self.obj)
            if now is None or state_digest(self.admin.editable_state(now, self.fields)) != self.data.get(OPENED):
                self.add_error(None, stale_message(self.obj))
                return False
        return self.admin.is_confirmed(self.request, self, self.obj)


def state_digest(state: Mapping[str, object]) -> str:
    return sha256(json.dumps(state, sort_keys=True, default=str).encode()).hexdigest()


def stale_message(obj: Model) -> SafeString:
    return format_html(
        "Somebody changed this {} while you had it open. Nothing was saved. "
        '<a class="underline" href="{}" target="_blank">Open the current version</a> and make your change there.',
        obj._meta.verbose_name,
        change_url(obj),
    )
