"""Mixins for ModelAdmin classes and forms. Put a mixin before the class that it extends."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, cast

from django import forms
from django.contrib.admin.helpers import AdminForm
from django.contrib.admin.utils import unquote
from django.db.models import Model
from django.forms import BaseForm, BoundField, ModelForm
from django.forms.utils import ErrorDict
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework.serializers import Serializer
from unfold.dataclasses import UnfoldAction
from unfold.widgets import (
    UnfoldAdminFileFieldWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanWidget,
)

from operators.base.fields import Values, build_body, validate_fields

ModelT = TypeVar("ModelT", bound=Model)
FormT = TypeVar("FormT", bound=BaseForm)

EDIT = "_edit"  # name of buttons that do not save; their value says what they do
REOPEN = "back"

if TYPE_CHECKING:
    from unfold.admin import ModelAdmin

    class AdminMixin(ModelAdmin[ModelT]):
        """The type of `super()` in a ModelAdmin mixin."""

else:

    class AdminMixin(Generic[ModelT]):
        pass


class FormPage(AdminMixin[ModelT]):
    """A mixin with hooks for the page of an object's form."""

    def form_context(self, request: HttpRequest, form: ModelForm, obj: ModelT | None) -> dict[str, object]:
        """Return further context of the page; `obj` is None for a new object."""
        return {}

    def page_instead(self, request: HttpRequest, form: ModelForm, obj: ModelT | None) -> HttpResponse | None:
        """Return another page to show instead of the form, such as a confirmation."""
        return None

    # Returns the names of the actions that an object in this state is not offered.
    hidden_actions: Callable[[ModelT], Iterable[str]] | None = None

    def get_actions_detail(self, request: HttpRequest, object_id: str) -> list[UnfoldAction]:
        actions = super().get_actions_detail(request, object_id)
        obj = None if self.hidden_actions is None else self.get_object(request, unquote(object_id))
        if self.hidden_actions is None or obj is None:
            return actions
        hidden = tuple(f"_{name}" for name in self.hidden_actions(obj))
        return [action for action in actions if not action.action_name.endswith(hidden)]

    def require_object(self, request: HttpRequest, object_id: str) -> ModelT:
        """Return the object that an action's URL names. Raises Http404 outside the scope."""
        obj = self.get_object(request, unquote(object_id))
        if obj is None:
            raise Http404
        return obj

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, object],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: ModelT | None = None,
    ) -> HttpResponse:
        form = shown_form(context)
        if other := self.page_instead(request, form, obj):
            return other
        context |= self.form_context(request, form, obj)
        return super().render_change_form(request, context, add, change, form_url, obj)


def shown_form(context: Mapping[str, object]) -> ModelForm:
    """Return the form of a page that ModelAdmin renders."""
    return cast(AdminForm, context["adminform"]).form


class ServiceForm(ModelForm):
    """A form whose values the endpoint's serializer validates, instead of the model.

    Fields are named as the serializer's sources. `api_names` has the names of others, as a body of the API has them
    (operators.base.fields.build_body).
    """

    serializer: ClassVar[type[Serializer] | None] = None  # None if the service validates the values
    api_names: ClassVar[Mapping[str, str]] = {}

    def _post_clean(self) -> None:
        """Skip model validation."""

    def names_in_api(self) -> dict[str, str]:
        """Return the name in the API of each field."""
        names: dict[str, str] = {}
        if self.serializer is not None:
            fields = self.serializer().fields.items()
            names |= {str(field.source): name for name, field in fields if not field.read_only}
        return names | dict(self.api_names)

    def names_in_form(self) -> dict[str, str]:
        """Return the field at which to show an error about a name in the API."""
        names_by_path = {path: name for name, path in self.names_in_api().items() if name in self.fields}
        for path, name in list(names_by_path.items()):
            names_by_path.setdefault(path.partition(".")[0], name)
        return names_by_path

    def service_fields(self, changed: Values) -> Values:
        """Return the values as the service's arguments. Raises ApiError or the serializer's ValidationError."""
        if self.serializer is None:
            return {**changed}
        serializer = self.serializer(partial=True)
        return validate_fields(serializer, build_body(serializer, self.names_in_api(), changed, self.cleaned_data))


def derive_form(form: type[FormT], mixin: type[BaseForm], **attributes: object) -> type[FormT]:
    """Return the form class extended by the mixin, with class attributes. Django creates form classes per page."""
    return cast("type[FormT]", type(mixin.__name__, (mixin, form), attributes))


STYLED_WIDGETS: dict[type[forms.Widget], type[forms.Widget]] = {
    forms.TextInput: UnfoldAdminTextInputWidget,
    forms.NumberInput: UnfoldAdminIntegerFieldWidget,
    forms.Textarea: UnfoldAdminTextareaWidget,
    forms.Select: UnfoldAdminSelectWidget,
    forms.CheckboxInput: UnfoldBooleanWidget,
    forms.ClearableFileInput: UnfoldAdminFileFieldWidget,
}


class StyledForm(BaseForm):
    """A form whose fields get unfold's widgets in the place of Django's."""

    def __getitem__(self, name: str) -> BoundField:
        field = self.fields.get(name)
        if field is not None and type(field.widget) in STYLED_WIDGETS:
            plain = field.widget
            field.widget = STYLED_WIDGETS[type(plain)](attrs=plain.attrs)
            field.widget.is_required = plain.is_required
            if isinstance(plain, forms.Select):
                field.widget.choices = plain.choices
        return super().__getitem__(name)


class ReopenedForm(StyledForm):
    """Mixin for a form that is shown again with its values instead of saved, if EDIT is REOPEN."""

    def is_valid(self) -> bool:
        if self.data.get(EDIT) == REOPEN:
            self._errors = ErrorDict()
            return False
        return super().is_valid()
