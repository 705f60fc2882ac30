"""The forms that make API keys. What they take is checked by the API's own serializer."""

import re
from typing import Any

from django import forms
from django.utils import timezone
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
)

from accounts.models import ApiKey, KeyType
from accounts.permissions import PERMISSIONS
from accounts.serializers import ApiKeySerializer
from operators.access.one_time_key import TicketField

IN_WORDS = [(name, f"{words} ({name})") for name, words in PERMISSIONS.items()]


class NewKeyForm(forms.ModelForm):
    permissions = forms.MultipleChoiceField(
        choices=IN_WORDS,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        label="May",
        help_text="No more than its work needs. A public key only ever reads; with policies:read, whoever has it "
        "reads the ids and addresses of customers in the rules, and with content:read every item's figures.",
    )
    allowed_ips = forms.CharField(
        required=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        label="Allowed addresses",
        help_text="IP addresses or ranges such as 203.0.113.0/24, one a line. None: any address.",
    )

    class Meta:
        model = ApiKey
        fields = ("account", "name", "type", "expires_at")
        labels = {"expires_at": "Expires"}
        help_texts = {
            "name": "What it is for, so that you know it again.",
            "type": "A secret key is for servers; a public one may be seen by anybody.",
            "expires_at": "In UTC. Empty: never.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["type"].initial = KeyType.SECRET

    def clean_allowed_ips(self) -> list[str]:
        return (
            re.split(r"[\s,]+", self.cleaned_data["allowed_ips"].strip()) if self.cleaned_data["allowed_ips"] else []
        )

    def clean_expires_at(self) -> Any:
        expires_at = self.cleaned_data["expires_at"]
        if expires_at is not None and expires_at <= timezone.now():
            raise forms.ValidationError("This is in the past: the key would never work.")
        return expires_at


def checked(fields: dict[str, Any]) -> dict[str, Any]:
    """A form's fields as the service takes them. Raises the serializer's ValidationError."""
    expires_at = fields["expires_at"]
    serializer = ApiKeySerializer(
        data={
            "name": fields["name"],
            "type": fields["type"],
            "permissions": fields["permissions"],
            "allowedIps": fields["allowed_ips"],
            "expiresAt": expires_at and expires_at.isoformat(),
        }
    )
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


class RotationForm(forms.Form):
    ticket = TicketField()
    overlap_seconds = forms.TypedChoiceField(
        coerce=int,
        choices=[
            (0, "at once"),
            (3600, "in an hour"),
            (86_400, "in a day"),
            (259_200, "in three days"),
            (604_800, "in a week"),
        ],
        initial=86_400,
        widget=UnfoldAdminSelectWidget,
        label="The old key ends",
    )
