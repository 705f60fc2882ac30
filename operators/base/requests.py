"""What the admin keeps with a request between the steps of Django's ModelAdmin, which hand on nothing else."""

from collections.abc import Mapping
from typing import cast

from django.http import HttpRequest


class AdminRequest(HttpRequest):
    new_id: str | None  # of what an add form makes
    refused: Exception  # what the form is shown again for
    key_text: str  # of a new API key
    cleaned: Mapping[str, object]  # all fields of the form, those that were not changed too
    audited_before: Mapping[str, object]


def kept(request: HttpRequest) -> AdminRequest:
    return cast(AdminRequest, request)
