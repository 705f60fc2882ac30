"""Form fields for related objects."""

from collections.abc import Sequence

from django import forms
from django.contrib.admin.widgets import AutocompleteSelect, AutocompleteSelectMultiple, RelatedFieldWidgetWrapper

from kit.values.ids import decode, id_prefix


class RelatedInput(AutocompleteSelect):
    """A search for a related object. Shows an invalid id as empty, because the database rejects a lookup by it."""

    def optgroups(
        self, name: str, value: Sequence[str], attr: dict[str, object] | None = None
    ) -> list[tuple[str | None, list[dict[str, object]], int | None]]:
        prefix = id_prefix(self.field.remote_field.model)
        return super().optgroups(name, [text for text in value if decode(prefix, text) is not None], attr)


class RelatedInputs(RelatedInput, AutocompleteSelectMultiple):
    """A search for several related objects."""


def without_window(field: forms.Field | None) -> forms.Field | None:
    """Remove the buttons that open a related object in a popup, which the keyboard cannot reach."""
    if field is not None and isinstance(field.widget, RelatedFieldWidgetWrapper):
        field.widget = field.widget.widget
    return field
