"""Serializer fields that accept only their own JSON type: `"12"` is not an integer, `1` not a string."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import ClassVar, Generic, TypedDict, TypeVar, Unpack
from urllib.parse import urlsplit

from django.core.validators import EmailValidator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.settings import api_settings

from kit.values.hosts import HOST_PATTERN, parse_host
from kit.values.suggestions import did_you_mean, shown, such_as
from kit.values.time_zones import MAX_NAME, parse_zone_name
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

    default_error_messages = {
        "invalid": "Must be a string.",
        "blank": "Must not be blank.",
        "max_length": "Must have at most {max_length} characters.",
        "min_length": "Must have at least {min_length} characters.",
    }
    example: object = "a"

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


class ExternalId(Text):
    """The caller's own id of an object."""

    def __init__(self, help_text: str = "") -> None:
        super().__init__(max_length=255, required=False, allow_null=True, source="external_id", help_text=help_text)


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

    default_error_messages = dict.fromkeys(
        ("invalid", "invalid_url"), "Must be an http(s) URL such as https://example.com/a."
    )

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
    default_error_messages = {
        "invalid": "Must be an integer.",
        "max_value": "Must be at most {max_value}.",
        "min_value": "Must be at least {min_value}.",
    }

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
    takes_null = False  # an enumeration has no empty value
    default_error_messages = {"invalid_choice": "Must be one of: {allowed}.{suggestion}"}

    @property
    def example(self) -> str:
        return str(next(iter(self.choices)))

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str) or data not in self.choices:
            names = [str(one) for one in self.choices]
            self.fail("invalid_choice", allowed=", ".join(names), suggestion=did_you_mean(data, names))
        return data


LENGTHS = {
    "min_length": "Must have at least {min_length} item.",
    "max_length": "Must have at most {max_length} items.",
    "empty": "Must not be empty.",
}


def wrong_array(child: object, data: object) -> str:
    example = getattr(child, "example", None)
    return f"Must be an array{such_as([example] if example else None)}, not {shown(data)}."


class Array(serializers.ListField):
    """An array of values or of objects."""

    default_error_messages = {**LENGTHS}

    def to_internal_value(self, data: object) -> list[object]:
        if not isinstance(data, list):
            raise serializers.ValidationError(wrong_array(self.child, data), code="not_a_list")
        return super().to_internal_value(data)


class Several(serializers.ListSerializer):
    """An array of objects that is validated as a whole, too."""

    default_error_messages = {**LENGTHS}

    def to_internal_value(self, data: object) -> list[object]:
        if not isinstance(data, list):
            errors = {api_settings.NON_FIELD_ERRORS_KEY: [wrong_array(self.child, data)]}
            raise serializers.ValidationError(errors, code="not_a_list")
        return super().to_internal_value(data)


class Texts(Array):
    """An array of strings; with `ids`, of ids with that prefix."""

    def __init__(
        self, *, max_items: int, max_length: int | None = None, ids: str | None = None, **options: Unpack[FieldOptions]
    ) -> None:
        child = Text(max_length=max_length) if ids is None else Id(ids, max_length=max_length)
        super().__init__(child=child, max_length=max_items, **options)


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
    example: ClassVar[object] = "news.example"

    def __init__(self, **options: Unpack[FieldOptions]) -> None:
        super().__init__(parse_host, **options)


@extend_schema_field({"type": "string", "format": "time-zone", "maxLength": MAX_NAME, "example": "Europe/Berlin"})
class TimeZone(ParsedField[str]):
    """An IANA name of a time zone."""

    example: ClassVar[object] = "Europe/Berlin"

    def __init__(self, **options: Unpack[FieldOptions]) -> None:
        super().__init__(parse_zone_name, **options)


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
        self.prefix, self.example = prefix, f"{prefix}_…"
        super().__init__(**options)
