"""Mixins for ModelAdmin classes and forms. Put a mixin before the class that it extends."""

from typing import TYPE_CHECKING, Generic, TypeVar, cast

from django.db.models import Model
from django.forms import BaseForm, ModelForm
from django.forms.utils import ErrorDict

ModelT = TypeVar("ModelT", bound=Model)
FormT = TypeVar("FormT", bound=BaseForm)

EDIT = "_edit"  # name of buttons that do not save; their value says what they do
REOPEN = "back"

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    class AdminMixin(ModelAdmin[ModelT]):
        """The type of `super()` in a ModelAdmin mixin."""

else:

    class AdminMixin(Generic[ModelT]):
        pass


class ServiceForm(ModelForm):
    """A form whose values the service validates, instead of the model."""

    def _post_clean(self) -> None:
        """Skip model validation."""


def derive_form(form: type[FormT], mixin: type[BaseForm], **attributes: object) -> type[FormT]:
    """Return the form class extended by the mixin, with class attributes. Django creates form classes per page."""
    return cast("type[FormT]", type(mixin.__name__, (mixin, form), attributes))


class ReopenedForm(BaseForm):
    """Mixin for a form that is shown again with its values instead of saved, if EDIT is REOPEN."""

    def is_valid(self) -> bool:
        if self.data.get(EDIT) == REOPEN:
            self._errors = ErrorDict()
            return False
        return super().is_valid()


__all__ = ["EDIT", "REOPEN", "AdminMixin", "FormT", "ModelT", "ReopenedForm", "ServiceForm", "derive_form"]
