"""What a service refuses, shown at the field of the form that it is about."""

import re
from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from rest_framework.exceptions import ValidationError as SerializerErrors

from kit.http.errors import ApiError, first_error

# What services and serializers raise for what cannot be done.
REFUSALS = (ApiError, ValidationError, SerializerErrors)


class Refused(Exception):
    """The messages of a refusal by the form's field; "__all__" for those that no field is to blame for."""

    def __init__(self, messages: dict[str, list[str]]) -> None:
        super().__init__(messages)
        self.messages = messages


def refusal(error: Exception, fields: Mapping[str, str]) -> Refused:
    """The refusal that a service's error is. `fields`: the form's fields by names of the API that are not theirs."""
    match error:
        case ApiError():
            return Refused({field_of(error.param or "", fields): [error.message]})
        case SerializerErrors():
            param, message = first_error(error.detail)
            return Refused({field_of(param, fields): [message]})
        case ValidationError() if hasattr(error, "error_dict"):
            return Refused({fields.get(name, name): messages for name, messages in error.message_dict.items()})
        case ValidationError():
            return Refused({NON_FIELD_ERRORS: error.messages})
    raise TypeError(f"{type(error).__name__} is no refusal")


def field_of(param: str, fields: Mapping[str, str]) -> str:
    """The form's field of a path such as `rules[0].action` or `requestsPerDay`."""
    name = re.split(r"[.\[]", param, maxsplit=1)[0]
    return fields.get(name) or re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: f"_{found[1].lower()}", name)


def add_refusal(form: Any, refused: Refused) -> None:
    """Adds the refusal to the form's errors."""
    for name, messages in refused.messages.items():
        form.add_error(name if name in form.fields else None, messages)


def show_refusal(form: type[forms.BaseForm], refused: Refused) -> type[Any]:
    """The form class, whose every form has the refusal among its errors."""

    class RefusedForm(form):  # type: ignore[misc, valid-type]
        def clean(self) -> Any:
            cleaned = super().clean()
            add_refusal(self, refused)
            return cleaned

    return RefusedForm
