"""Values kept on the request, because Django's ModelAdmin passes nothing else between its steps."""

from collections.abc import Mapping
from typing import cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from accounts.models import Account
from operators.base.refusals import FormErrors


class AdminRequest(HttpRequest):
    new_id: str | None  # of the object that an add form creates
    refused: FormErrors  # error to show with the form
    confirmation: object  # the FormConfirmation to show instead of saving (operators.base.forms), or None
    secret: str  # of a new object, shown once
    cleaned: Mapping[str, object]  # all fields of the form, including unchanged ones
    audited_before: Mapping[str, object]
    all_accounts: list[Account]  # visible to the operator, by name
    chosen_account_only: bool  # whether a list is being read (operators.base.scope)
    booked_before: set[str]  # ids of a licence's earlier ledger entries


def admin_request(request: HttpRequest) -> AdminRequest:
    return cast(AdminRequest, request)


def signed_in(request: HttpRequest) -> User:
    """Return the operator. Raises PermissionDenied for anyone else."""
    if not request.user.is_authenticated:
        raise PermissionDenied
    return request.user
