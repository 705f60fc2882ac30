"""Forms for API keys. The API's serializers validate their values."""

from datetime import UTC, datetime
from typing import ClassVar

from django import forms
from django.utils import timezone

from accounts.keys.bounds import RateLimit, describe_rate_limit, parse_rate_limit
from accounts.keys.permissions import PERMISSIONS
from accounts.keys.serializers import ApiKeyChangeSerializer, ApiKeySerializer
from accounts.models import ApiKey
from operators.access.key_pages import KeyTicketField
from operators.base.fields import CheckboxGroup, LinesField
from operators.base.mixins import ServiceForm
from operators.base.times import LocalDateTimeField, time_in_words

PERMISSION_CHOICES = [(name, f"{words} ({name})") for name, words in PERMISSIONS.items()]
OVERLAPS = {0: "at once", 3600: "in an hour", 86_400: "in a day", 259_200: "in three days", 604_800: "in a week"}
FRESH, SAME, NEVER = "fresh", "same", "never"
CALENDAR_END = datetime.max.replace(tzinfo=UTC)  # some keys expire at the calendar's end
EXPIRY_REASONS = {FRESH: "after as long a term as this one had", SAME: "as this one"}


def split_words(lines: list[str]) -> list[str]:
    """Return the words of the lines, separated by spaces or commas."""
    return " ".join(lines).replace(",", " ").split()


class RateLimitField(forms.Field):
    """A key's rate limit as text; empty for none."""

    def __init__(self) -> None:
        super().__init__(
            required=False,
            label="Rate limit",
            help_text="Requests with this key, below the plan's limit: 20/minute, 500/hour or 5000/day. "
            "Empty: only the plan's limit.",
        )

    def prepare_value(self, value: RateLimit | str | None) -> str:
        if value is None or isinstance(value, str):
            return value or ""
        return describe_rate_limit(value)

    def to_python(self, value: object) -> RateLimit | None:
        text = str(value or "")
        try:
            return parse_rate_limit(text) if text.strip() else None
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None


class KeyForm(ServiceForm):
    """The changeable fields of a key."""

    serializer: ClassVar[type[ApiKeySerializer]] = ApiKeyChangeSerializer

    allowed_ips = LinesField(
        label="Allowed addresses",
        help_text="IP addresses or ranges such as 203.0.113.0/24, one per line. Empty: any address.",
    )
    allowed_hosts = LinesField(
        label="Allowed hosts",
        help_text=(
            "For a proxy's key: the hosts that it may ask about, such as news.example, one per line. Empty: any host."
        ),
    )

    rate_limit = RateLimitField()
    expires_at = LocalDateTimeField(
        ends=True, label="Expires", help_text="A date without a time includes that day. Empty: never."
    )

    class Meta:
        model = ApiKey
        fields: tuple[str, ...] = ("name", "expires_at")
        help_texts = {"name": "What it is used for."}

    def clean_allowed_ips(self) -> list[str]:
        return split_words(self.cleaned_data["allowed_ips"])

    def clean_allowed_hosts(self) -> list[str]:
        return split_words(self.cleaned_data["allowed_hosts"])

    def clean_expires_at(self) -> datetime | None:
        expires_at: datetime | None = self.cleaned_data["expires_at"]
        if "expires_at" in self.changed_data and expires_at is not None and expires_at <= timezone.now():
            raise forms.ValidationError("Must be in the future.")
        return expires_at


class NewKeyForm(KeyForm):
    serializer = ApiKeySerializer

    permissions = forms.MultipleChoiceField(
        choices=PERMISSION_CHOICES,
        widget=CheckboxGroup,
        label="May",
        help_text=(
            "Only what it needs. A public key can only read. With policies:read, anybody who has the key can read "
            "customers' ids and addresses in rules; with content:read, every item's figures."
        ),
    )

    class Meta(KeyForm.Meta):
        fields = ("account", "name", "type", "expires_at")
        help_texts = {
            **KeyForm.Meta.help_texts,
            "type": "A secret key is for servers. A public key may be visible to anybody.",
        }


def overlap_field(label: str) -> forms.TypedChoiceField:
    """Return a field for the seconds that a former secret stays valid."""
    return forms.TypedChoiceField(coerce=int, choices=[*OVERLAPS.items()], initial=86_400, label=label)


class RotationForm(forms.Form):
    ticket = KeyTicketField()
    overlap_seconds = overlap_field("The old key ends")


def possible_ends(key: ApiKey, now: datetime) -> dict[str, datetime | None]:
    """Return the possible expiries of a new key if the old one expires: the same term again, the same time,
    or never.
    """
    if key.expires_at is None:
        return {}
    return {FRESH: now + min(key.expires_at - key.created_at, CALENDAR_END - now), SAME: key.expires_at, NEVER: None}


def rotation_form(key: ApiKey, now: datetime) -> type[RotationForm]:
    """Return the form class, with a choice of the new key's expiry if the old one expires."""
    ends = possible_ends(key, now)
    if not ends:
        return RotationForm
    choices = [
        (name, f"on {time_in_words(end)}, {EXPIRY_REASONS[name]}" if end else "never") for name, end in ends.items()
    ]

    class OfTerm(RotationForm):
        term = forms.ChoiceField(
            choices=choices,
            initial=FRESH,
            required=False,  # missing if the form was opened before the key had an expiry, or is sent twice
            label="The new key expires",
        )

    return OfTerm
