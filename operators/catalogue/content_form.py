"""The form of an item."""

from typing import Any, ClassVar

from django import forms
from django.forms.fields import InvalidJSONInput
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from kit.http.errors import InvalidRequest
from kit.http.parsing import parse_value
from licensing.content.metadata import COLUMNS
from licensing.content.models import Content
from licensing.content.serializers import ContentSerializer
from operators.base.fields import Lines
from operators.base.mixins import ServiceForm


class StrictJson(forms.JSONField):
    """JSON parsed as strictly as API bodies. Invalid JSON is shown again unchanged."""

    def to_python(self, value: object) -> Any:
        if isinstance(value, str) and value not in self.empty_values:
            try:
                return parse_value(value, "This")
            except InvalidRequest as error:
                raise forms.ValidationError(error.message) from None
        return super().to_python(value)

    def bound_data(self, data: str | None, initial: object) -> object:
        try:
            self.to_python(data)
        except forms.ValidationError:
            return InvalidJSONInput(data)
        return super().bound_data(data, initial)


class ContentForm(ServiceForm):
    serializer = ContentSerializer
    api_names: ClassVar = {
        "policy": "policyId",
        "metadata_extra": "metadata.*",
        **{column: f"metadata.{name}" for name, column in COLUMNS.items()},
    }

    tags = Lines(help_text="One per line. Policies and licences can refer to them.")
    metadata_tags = Lines(label="Tags in the metadata", help_text="One per line. Separate from the item's tags.")
    metadata_extra = StrictJson(
        required=False,
        label="Further metadata",
        help_text="A JSON object of strings, numbers and booleans.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )

    class Meta:
        model = Content
        fields = ("account", "title", "external_id", "type", "source", "policy", "tags", "status", *COLUMNS.values(),
                  "metadata_extra")  # fmt: skip
        widgets: ClassVar = {"source": UnfoldAdminTextInputWidget(attrs={"inputmode": "url"})}

    def clean_metadata_extra(self) -> dict[str, object]:
        """Return the keys to set, with null for each that the item no longer has."""
        value: object = self.cleaned_data["metadata_extra"] or {}
        if not isinstance(value, dict):
            raise forms.ValidationError("Must be a JSON object.")
        return {**dict.fromkeys(self.instance.metadata_extra), **value}

    def clean_metadata_tags(self) -> list[str] | None:
        return self.cleaned_data["metadata_tags"] or None
