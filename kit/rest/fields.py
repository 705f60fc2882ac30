"""Serializer fields that accept only their own JSON type: `"12"` is not an integer, `1` not a string."""

from collections.abc import Callable, Mapping, Sequence, Set
from datetime import date, datetime
from typing import ClassVar, Generic, TypedDict, TypeVar, Unpack, cast
from urllib.parse import urlsplit

from django.core.validators import EmailValidator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from kit.http.field_errors import UNKNOWN
from kit.values.faults import NO_SUCH_FIELD, FaultKind
from kit.values.hosts import HOST_PATTERN, parse_host
from kit.values.suggestions import MAX_SUGGESTIONS, did_you_mean
from kit.values.timestamps import parse_date, parse_timestamp, render_timestamp

T = TypeVar("T")


class FieldOptions(TypedDict, total=False):
    """Options of every field."""

    read_only: bool
    write_only: bool
    required: bool
    allow_null: bool
    source: str
    label: str
    help_text: str


class TextOptions(FieldOptions, total=False):
    allow_blank: bool
    min_length: int
    max_length: int | None


class TimestampOptions(FieldOptions, total=False):
    validators: Sequence[Callable[[datetime], None]]


class Text(serializers.CharField):
    """A string, never trimmed. `allow_blank` permits empty strings and whitespace."""

    default_error_messages = {"invalid": "Must be a string.", "blank": "Must not be blank."}

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        super().__init__(trim_whitespace=False, **options)

    def run_validation(self, data: object = serializers.empty) -> str | None:
        if isinstance(data, str) and not self.allow_blank and not data.strip():
            self.fail("blank")
        return super().run_validation(data)

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


def is_http_url(text: str) -> bool:
    """Whether the text is an absolute http(s) URL without white space."""
    try:
        parts = urlsplit(text)
        _ = parts.port  # raises ValueError for an invalid port
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False
    return usable and text.isprintable() and " " not in text


class Url(Text):
    """An absolute http(s) URL."""

    default_error_messages = {"invalid_url": "Must be an http(s) URL such as https://example.com/a."}

    def __init__(self, *, max_length: int = 2048, **options: Unpack[FieldOptions]) -> None:
        super().__init__(max_length=max_length, **options)

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if not is_http_url(text):
            self.fail("invalid_url")
        return text


class Email(Text):
    """An e-mail address of up to 254 characters."""

    def __init__(self, **options: Unpack[FieldOptions]) -> None:
        super().__init__(max_length=254, **options)
        self.validators.append(EmailValidator("Must be an e-mail address such as ada@example.com."))


class Integer(serializers.IntegerField):
    default_error_messages = {"invalid": "Must be an integer."}

    def to_internal_value(self, data: object) -> int:
        if type(data) is not int:  # bool is a subclass of int
            self.fail("invalid")
        return data


class Boolean(serializers.BooleanField):
    default_error_messages = {"invalid": "Must be true or false."}

    def to_internal_value(self, data: object) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class Choice(serializers.ChoiceField):
    default_error_messages = {"invalid_choice": "Must be one of: {allowed}.{suggestion}"}

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str) or data not in self.choices:
            names = [str(one) for one in self.choices]
            self.fail("invalid_choice", allowed=", ".join(names), suggestion=did_you_mean(data, names))
        return data


class Texts(serializers.ListField):
    """An array of strings; with `ids`, of ids with that prefix.

    Accepts null as empty, and shows it as an empty array.
    """

    null_is_empty = True
    default_error_messages = {"not_a_list": "Must be an array."}

    def __init__(
        self, *, max_items: int, max_length: int | None = None, ids: str | None = None, **options: Unpack[FieldOptions]
    ) -> None:
        child = Text(max_length=max_length) if ids is None else Id(ids, max_length=max_length)
        super().__init__(child=child, max_length=max_items, **options)

    def to_internal_value(self, data: object) -> list[str]:
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=type(data).__name__)
        return super().to_internal_value(data)


@extend_schema_field(OpenApiTypes.STR)
class ParsedField(serializers.Field, Generic[T]):
    """A string converted by `parse`, whose ValueError becomes the field's error."""

    default_error_messages = {"invalid": "Must be a string."}

    def __init__(self, parse: Callable[[str], T], **options: Unpack[TimestampOptions]) -> None:
        self.parse = parse
        super().__init__(**options)

    def to_internal_value(self, data: object) -> T:
        if not isinstance(data, str):
            self.fail("invalid")
        try:
            return self.parse(data)
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from None

    def to_representation(self, value: T) -> object:
        return value


@extend_schema_field({"type": "string", "pattern": HOST_PATTERN, "example": "news.example"})
class Host(ParsedField[str]):
    def __init__(self, **options: Unpack[FieldOptions]) -> None:
        super().__init__(parse_host, **options)


class Timestamp(ParsedField[datetime]):
    _spectacular_annotation: ClassVar[dict[str, object]] = {}  # its OpenAPI extension describes it

    def __init__(self, **options: Unpack[TimestampOptions]) -> None:
        super().__init__(parse_timestamp, **options)

    def to_representation(self, value: datetime | None) -> str | None:
        return render_timestamp(value)


@extend_schema_field(OpenApiTypes.DATE)
class Date(ParsedField[date]):
    def __init__(self, **options: Unpack[FieldOptions]) -> None:
        super().__init__(parse_date, **options)

    def to_representation(self, value: date) -> str:
        return value.isoformat()


class Id(Text):
    """An id. Accepts any string: the endpoint reports ids that do not exist."""

    def __init__(self, prefix: str, **options: Unpack[TextOptions]) -> None:
        self.prefix = prefix
        super().__init__(**options)


class StrictSerializer(serializers.Serializer):
    """A serializer that rejects unknown fields and ignores those the service owns.

    `owned` names response fields beyond the declared read-only ones, such as an expanded relation, so that clients can
    send back what they read.
    """

    owned: frozenset[str] = frozenset()
    default_error_messages = {"invalid": "Must be an object."}

    def to_internal_value(self, data: object) -> dict[str, object]:
        if not isinstance(data, Mapping):
            return super().to_internal_value(data)  # raises the error
        known = self.fields.keys() | self.owned
        unknown = self.unknown_fields(data, known)
        try:
            fields = super().to_internal_value(data)
        except serializers.ValidationError as error:
            raise serializers.ValidationError({**unknown, **cast("dict[str, list[str]]", error.detail)}) from None
        if unknown:
            raise serializers.ValidationError(unknown)
        return fields

    def unknown_fields(self, data: Mapping[str, object], known: Set[str]) -> dict[str, list[ErrorDetail]]:
        """Return the errors of unknown fields; the first ones suggest a similar writable field."""
        unknown = [name for name in data if name not in known]
        if not unknown:
            return {}
        writable = [name for name, field in self.fields.items() if not field.read_only]
        suggestions = {name: did_you_mean(name, writable) for name in unknown[:MAX_SUGGESTIONS]}
        return {name: [ErrorDetail(f"{NO_SUCH_FIELD}{suggestions.get(name, '')}", UNKNOWN)] for name in unknown}


DOC_URL = "The documentation of the code; relative to the service's address if `BASE_URL` is not set."
KIND = "With `param`: a required field is `missing`, a field or parameter is `unknown`, or a value is `malformed`."


class FieldErrorShown(serializers.Serializer):
    """A fault of one field."""

    code = serializers.CharField(help_text="Machine-readable and stable.")
    message = serializers.CharField(help_text="For people: what is wrong.")
    param = serializers.CharField(required=False, help_text="The offending field.")
    kind = Choice(choices=[*FaultKind], required=False, help_text=KIND)


class ErrorShown(serializers.Serializer):
    """The error of one part of a request that succeeded as a whole."""

    code = serializers.CharField(help_text="Machine-readable and stable.")
    message = serializers.CharField(help_text="For people: what is wrong.")
    type = serializers.CharField(help_text="The kind of error.")
    docUrl = serializers.CharField(required=False, help_text=DOC_URL)
    param = serializers.CharField(required=False, help_text="The offending field.")
    kind = Choice(choices=[*FaultKind], required=False, help_text=KIND)
    retryAfter = serializers.IntegerField(required=False, help_text="Seconds to wait.")

    def get_fields(self) -> dict[str, serializers.Field]:
        """Add `errors`, which cannot be declared above: serializers have an attribute of that name."""
        told = "Where several fields are wrong: all of them, the first one among them."
        return {**super().get_fields(), "errors": FieldErrorShown(many=True, required=False, help_text=told)}
