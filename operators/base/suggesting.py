"""Fields that suggest values as one types (operators.suggestions, operators/suggest.js)."""

from collections.abc import Mapping
from copy import deepcopy
from enum import StrEnum
from typing import ClassVar

from django import forms
from django.http import HttpRequest
from django.urls import reverse

from operators.base.mixins import AdminMixin, ModelT

SCRIPT = "operators/suggest.js"


class Kind(StrEnum):
    """What is suggested."""

    ITEM = "item"
    POLICY = "policy"
    LICENSE = "license"
    REQUESTER = "requester"
    CUSTOMER = "customer"  # a requester who may be new
    TAG = "tag"
    LICENSE_TYPE = "license_type"
    PERMISSION = "permission"


def suggesting(
    fields: Mapping[str, forms.Field], kinds: Mapping[str, Kind], account_id: str | None = None
) -> dict[str, forms.Field]:
    """Copies of the fields that are named in `kinds`, with suggestions.

    Of which account is said by `account_id`, or else by the form's field `account` as it stands.
    """
    found = {}
    for name in kinds.keys() & fields.keys():
        found[name] = field = deepcopy(fields[name])
        field.widget.attrs["data-suggest"] = f"{reverse('admin:suggest')}?kind={kinds[name]}"
        if account_id is not None:
            field.widget.attrs["data-account"] = account_id
    return found


class SuggestingAdmin(AdminMixin[ModelT]):
    """For a ModelAdmin whose form has a field `account`, or belongs to the account of its object."""

    suggested: ClassVar[Mapping[str, Kind]] = {}

    class Media:
        js: ClassVar = (SCRIPT,)

    def get_form(
        self, request: HttpRequest, obj: ModelT | None = None, change: bool = False, **kwargs: object
    ) -> type[forms.ModelForm]:
        form = super().get_form(request, obj, change, **kwargs)
        account_id: str | None = getattr(obj, "account_id", None)
        form.base_fields |= suggesting(form.base_fields, self.suggested, account_id)
        return form
