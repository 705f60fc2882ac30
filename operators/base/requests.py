"""Values that the admin keeps with a request, since the steps of Django's ModelAdmin pass nothing else on."""

from collections.abc import Mapping
from typing import cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from accounts.models import Account
from operators.base.refusals import Refused


class AdminRequest(HttpRequest):
    new_id: str | None  # of the object that an add form creates
    refused: Refused  # shown with the form
    secret: str  # of a new object, shown once
    cleaned: Mapping[str, object]  # all fields of the form, unchanged ones included
    audited_before: Mapping[str, object]
    all_accounts: list[Account]  # that the operator may see, by name
    listing: bool  # whether lists are read (operators.base.chosen_account)
    booked_before: set[str]  # ids of a licence's ledger entries


def kept(request: HttpRequest) -> AdminRequest:
    return cast(AdminRequest, request)


def signed_in(request: HttpRequest) -> User:
    """The operator who sends the request. Raises PermissionDenied for anybody else."""
    if not request.user.is_authenticated:
        raise PermissionDenied
    return request.user
