"""Serializer fields that take a JSON value of their own type and no other: `"12"` is no integer, `1` no string."""

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from kit.values.timestamps import parse_date, parse_timestamp, render_timestamp


class Text(serializers.CharField):
    """A string; `blank` ones (nothing but white space) only where `allow_blank` says so. Never trimmed."""

    default_error_messages = {"invalid": "Must be a string.", "blank": "Must not be blank."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, **kwargs)

    def run_validation(self, data: Any = serializers.empty) -> Any:
        if isinstance(data, str) and not self.allow_blank and not data.strip():
            self.fail("blank")
        return super().run_validation(data)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return data


def is_http_url(text: str) -> bool:
    """An absolute http(s) URL without white space."""
    try:
        parts = urlsplit(text)
        _ = parts.port  # raises for what is no port
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False
    return usable and text.isprintable() and " " not in text


class Url(Text):
    """An absolute http(s) URL of up to 2,048 characters."""

    default_error_messages = {"invalid_url": "Must be an http(s) URL such as https://example.com/a."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=2048, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if not is_http_url(text):
            self.fail("invalid_url")
        return text


class Integer(serializers.IntegerField):
    default_error_messages = {"invalid": "Must be an integer."}

    def to_internal_value(self, data: Any) -> int:
        if type(data) is not int:  # True is an int too
            self.fail("invalid")
        return data


class Boolean(serializers.BooleanField):
    default_error_messages = {"invalid": "Must be true or false."}

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class Choice(serializers.ChoiceField):
    default_error_messages = {"invalid_choice": "Must be one of: {allowed}."}

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            self.fail("invalid_choice", allowed=", ".join(map(str, self.choices)))
        return data


class Texts(serializers.ListField):
    """An array of strings."""

    default_error_messages = {"not_a_list": "Must be an array."}

    def __init__(self, *, max_items: int, max_length: int | None = None, **kwargs: Any) -> None:
        super().__init__(child=Text(max_length=max_length), max_length=max_items, **kwargs)

    def to_internal_value(self, data: Any) -> list[str]:
        if not isinstance(data, list):
            self.fail("not_a_list", input_type=type(data).__name__)
        return super().to_internal_value(data)


@extend_schema_field(OpenApiTypes.STR)
class Parsed(serializers.Field):
    """A string that `parse` turns into a value, or refuses with a ValueError that says why."""

    default_error_messages = {"invalid": "Must be a string."}

    def __init__(self, parse: Callable[[str], Any], **kwargs: Any) -> None:
        self.parse = parse
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid")
        try:
            return self.parse(data)
        except ValueError as error:
            raise serializers.ValidationError(str(error)) from None

    def to_representation(self, value: Any) -> Any:
        return value


class Timestamp(Parsed):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(parse_timestamp, **kwargs)

    def to_representation(self, value: datetime | None) -> str | None:
        return render_timestamp(value)


@extend_schema_field(OpenApiTypes.DATE)
class Date(Parsed):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(parse_date, **kwargs)

    def to_representation(self, value: date) -> str:
        return value.isoformat()


class Id(Text):
    """An id; in requests any string will do, for what names nothing is told by the endpoint."""

    def __init__(self, prefix: str, **kwargs: Any) -> None:
        self.prefix = prefix
        super().__init__(**kwargs)


class StrictSerializer(serializers.Serializer):
    """Refuses fields that the resource does not have; ignores those that the service owns.

    `owned` names the fields of a response beside the read-only ones declared (such as an expanded relation), so that
    what was read can be sent back.
    """

    owned: frozenset[str] = frozenset()
    default_error_messages = {"invalid": "Must be an object."}

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            for name in data:
                if name not in self.fields and name not in self.owned:
                    raise serializers.ValidationError({name: ["There is no such field."]})
        return super().to_internal_value(data)


class ErrorShown(serializers.Serializer):
    """An error of a part of the request, in a reply that is a success as a whole."""

    code = serializers.CharField(help_text="Machine-readable and stable.")
    message = serializers.CharField(help_text="For people; names what is wrong.")
    type = serializers.CharField(help_text="The kind of error.")
    param = serializers.CharField(required=False, help_text="The offending field.")
