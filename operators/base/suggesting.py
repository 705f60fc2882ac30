"""Fields with suggestions while typing (operators.suggestions, operators/suggest.js)."""

from collections.abc import Mapping
from copy import deepcopy
from enum import StrEnum
from typing import ClassVar

from django import forms
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from operators.base.chosen_account import chosen_id
from operators.base.currencies import booked_currencies, grouped_currencies
from operators.base.fields import Currency
from operators.base.mixins import AdminMixin, ModelT
from operators.base.scope import request_scope

SCRIPT = "operators/suggest.js"
MOST_ACCOUNTS = 200  # whose words and currencies are suggested


class Kind(StrEnum):
    """What a field suggests."""

    ITEM = "item"
    POLICY = "policy"
    LICENSE = "license"
    REQUESTER = "requester"
    CUSTOMER = "customer"  # a requester who may be new
    TAG = "tag"
    LICENSE_TYPE = "license_type"
    PERMISSION = "permission"


def with_suggestions(
    fields: Mapping[str, forms.Field], kinds: Mapping[str, Kind], account_id: str | None = None
) -> dict[str, forms.Field]:
    """Return copies of the fields named in `kinds`, with suggestions.

    The suggestions are for `account_id`, or for the current value of the form's field `account`.
    """
    found = {}
    for name in kinds.keys() & fields.keys():
        found[name] = field = deepcopy(fields[name])
        field.widget.attrs["data-suggest"] = f"{reverse('admin:suggest')}?kind={kinds[name]}"
        if account_id is not None:
            field.widget.attrs["data-account"] = account_id
    return found


class SuggestingAdmin(AdminMixin[ModelT]):
    """A mixin for ModelAdmins whose form has a field `account`, or whose object belongs to an account."""

    suggested: ClassVar[Mapping[str, Kind]] = {}

    @property
    def media(self) -> forms.Media:
        """Add the script; a `class Media` here would be hidden by that of a subclass."""
        return super().media + forms.Media(js=[SCRIPT])

    def get_form(
        self, request: HttpRequest, obj: ModelT | None = None, change: bool = False, **kwargs: object
    ) -> type[forms.ModelForm]:
        form = super().get_form(request, obj, change, **kwargs)
        account_id: str | None = getattr(obj, "account_id", None)
        form.base_fields |= with_suggestions(form.base_fields, self.suggested, account_id)
        money = {name: field for name, field in form.base_fields.items() if isinstance(field, Currency)}
        if money:
            accounts = [account_id] if account_id else offered_ids(request)
            choices = grouped_currencies(booked_currencies(accounts, timezone.now().date()))
            for name, field in money.items():
                form.base_fields[name] = own = deepcopy(field)
                own.choices = choices
        return form


def offered_ids(request: HttpRequest) -> list[str]:
    """Return the accounts of a new object: the chosen one, or the first that the operator may see."""
    if chosen := chosen_id(request):
        return [chosen]
    return list(request_scope(request).accounts().values_list("pk", flat=True)[:MOST_ACCOUNTS])
