"""The form of an item, and what it says as a body of the API, whose rules it is then held to."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.forms.fields import InvalidJSONInput
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from kit.http.errors import InvalidRequest
from kit.http.parsing import check_values, parse_value
from licensing.content.metadata import COLUMNS
from licensing.content.models import Content
from licensing.content.serializers import ContentSerializer
from operators.base.fields import Lines, as_told

NAMES = {
    "external_id": "externalId",
    "title": "title",
    "type": "type",
    "source": "source",
    "policy": "policyId",
    "tags": "tags",
    "status": "status",
}
METADATA = {column: name for name, column in COLUMNS.items()}
FURTHER = "metadata_extra"


class StrictJson(forms.JSONField):
    """JSON as strictly read as a body of the API. What cannot be read is shown again as it was written."""

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and value not in self.empty_values:
            try:
                return parse_value(value, "This")
            except InvalidRequest as error:
                raise forms.ValidationError(error.message) from None
        return super().to_python(value)

    def bound_data(self, data: Any, initial: Any) -> Any:
        try:
            self.to_python(data)
        except forms.ValidationError:
            return InvalidJSONInput(data)
        return super().bound_data(data, initial)


class ContentForm(forms.ModelForm):
    """What an operator says of an item."""

    tags = Lines(help_text="One on each line. Policies and licences can be about them.")
    metadata_tags = Lines(label="Tags in the metadata", help_text="One on each line. The API keeps them apart.")
    metadata_extra = StrictJson(
        required=False,
        label="Further metadata",
        help_text="A JSON object of strings, numbers and booleans.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )

    class Meta:
        model = Content
        fields = "__all__"  # noqa: DJ007 - the admin names them
        widgets: ClassVar = {"source": UnfoldAdminTextInputWidget(attrs={"inputmode": "url"})}

    def clean_metadata_extra(self) -> dict[str, Any]:
        value = self.cleaned_data["metadata_extra"]
        if not isinstance(value or {}, dict):
            raise forms.ValidationError("Must be a JSON object.")
        return value or {}

    def clean_metadata_tags(self) -> list[str] | None:
        return self.cleaned_data["metadata_tags"] or None


def content_fields(form: Mapping[str, Any], further: Mapping[str, Any]) -> dict[str, Any]:
    """What a service takes. `form` has what was given or changed, `further` the metadata keys that the item has.

    Raises ApiError, and a serializer's ValidationError.
    """
    body: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    for name, value in form.items():
        if name in NAMES:
            body[NAMES[name]] = value and value.pk if name == "policy" else as_told(value)
        elif name in METADATA:
            metadata[METADATA[name]] = as_told(value)
        elif name == FURTHER:
            metadata |= {**dict.fromkeys(further), **value}
    if metadata:
        body["metadata"] = metadata
    check_values(body, "", 0)
    fields: dict[str, Any] = ContentSerializer(partial=True).run_validation(body)
    return fields
