"""The form of an item, and its conversion to a body of the API."""

from collections.abc import Iterable
from typing import Any, ClassVar, TypedDict

from django import forms
from django.forms.fields import InvalidJSONInput
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from accounts.models import Account
from kit.http.errors import InvalidRequest
from kit.http.parsing import parse_value
from licensing.content.metadata import COLUMNS
from licensing.content.models import Content
from licensing.content.serializers import ContentSerializer
from licensing.policies.models import Policy
from operators.base.fields import Lines, as_json, validate_fields

NAMES = {
    "external_id": "externalId",
    "title": "title",
    "type": "type",
    "source": "source",
    "tags": "tags",
    "status": "status",
}
METADATA = {column: name for name, column in COLUMNS.items()}


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


class ContentForm(forms.ModelForm):
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
        fields = "__all__"  # noqa: DJ007 - the admin names them
        widgets: ClassVar = {"source": UnfoldAdminTextInputWidget(attrs={"inputmode": "url"})}

    def clean_metadata_extra(self) -> dict[str, object]:
        value: object = self.cleaned_data["metadata_extra"]
        if not value:
            return {}
        if not isinstance(value, dict):
            raise forms.ValidationError("Must be a JSON object.")
        return value

    def clean_metadata_tags(self) -> list[str] | None:
        return self.cleaned_data["metadata_tags"] or None


class ContentFields(TypedDict, total=False):
    """Form values; also contains the metadata columns in METADATA."""

    id: str
    account: Account
    external_id: str
    title: str
    type: str
    source: str
    policy: Policy | None
    tags: list[str]
    status: str
    metadata_extra: dict[str, object]


def content_fields(form: ContentFields, further: Iterable[str]) -> dict[str, Any]:
    """Return the service's arguments. `form` has the given or changed values, `further` the item's other metadata
    keys.

    Raises ApiError or a serializer's ValidationError.
    """
    body = {NAMES[name]: as_json(value) for name, value in form.items() if name in NAMES}
    if "policy" in form:
        body["policyId"] = form["policy"].pk if form["policy"] else None
    metadata = {METADATA[name]: as_json(value) for name, value in form.items() if name in METADATA}
    if "metadata_extra" in form:
        metadata |= {**dict.fromkeys(further), **form["metadata_extra"]}
    if metadata:
        body["metadata"] = metadata
    return validate_fields(ContentSerializer(partial=True), body)
