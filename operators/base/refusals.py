"""Errors of services, shown at the form's fields."""

import re
from collections.abc import Mapping

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from rest_framework.exceptions import ValidationError as SerializerErrors

from kit.http.errors import ApiError
from kit.http.field_errors import first_error

# The exceptions that services and serializers raise for invalid input.
REFUSALS = (ApiError, ValidationError, SerializerErrors)

# The API's word for a customer, except in a path or at the start of a quoted id.
REQUESTER = re.compile(r"(?<![/'])\b([Rr])equester(?=s?\b)")

# How the API says that an id is found (kit.rest.resources.id_hint).
FIND_BY_REQUEST = re.compile(r" Find it with GET \S+(?: or GET \S+)*\.(?=\s|$)")


# How it says that a customer is created (analytics.wallets.holders).
CREATE_BY_REQUEST = " Create it with POST /v1/requesters."


class FormErrors(Exception):
    """Error messages by form field; "__all__" if they concern no field."""

    def __init__(self, messages: dict[str, list[str]]) -> None:
        super().__init__(messages)
        self.messages = messages


def refusal(error: Exception, fields: Mapping[str, str]) -> FormErrors:
    """Convert an error. `fields` maps API names to form fields if they differ beyond snake_case."""
    match error:
        case ApiError():
            return FormErrors({form_field(error.param or "", fields): [translate_message(error.message)]})
        case SerializerErrors():
            param, message = first_error(error.detail)
            return FormErrors({form_field(param, fields): [translate_message(message)]})
        case ValidationError() if hasattr(error, "error_dict"):
            return FormErrors({fields.get(name, name): messages for name, messages in error.message_dict.items()})
        case ValidationError():
            return FormErrors({NON_FIELD_ERRORS: error.messages})
    raise TypeError(f"{type(error).__name__} is no refusal")


def translate_message(message: str) -> str:
    """Convert a message of the API: "customer" for "requester", and no requests to send."""
    message = FIND_BY_REQUEST.sub(" It is in the address of its page.", message)
    message = message.replace(CREATE_BY_REQUEST, " Add it: Customers, Add customer.")
    return REQUESTER.sub(lambda match: "Customer" if match[1] == "R" else "customer", message)


def form_field(param: str, fields: Mapping[str, str]) -> str:
    """Return the form field of a path such as `rules[0].action`, `context.ip` or `requestsPerDay`."""
    path = param.partition("[")[0]
    while path not in fields and "." in path:
        path = path.rpartition(".")[0]
    name = path.partition(".")[0]
    return fields.get(path) or re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: f"_{match[1].lower()}", name)


def add_refusal(form: forms.BaseForm, refused: FormErrors) -> None:
    """Add the messages to the form's errors."""
    for name, messages in refused.messages.items():
        form.add_error(name if name in form.fields else None, messages)
