"""Renew and Duplicate: a new licence's form, prefilled from an existing licence."""

from datetime import UTC, datetime, time, tzinfo
from typing import cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.timezone import get_current_timezone
from unfold.decorators import action

from kit.values.calendar import add_months
from licensing.licenses.models import License, LicenseStatus
from licensing.licenses.services import STARTS_BEFORE
from operators.base.model_admin import ScopedAdmin
from operators.customers.quotas import Quota

RENEWED, DUPLICATED = "renew", "duplicate"  # names in the form's query
KEPT = (
    "license_type", "content_ids", "tags", "policy_ids",
    "price_amount", "price_currency", "access_amount", "access_currency", "fee_amount", "fee_currency", "fee_every",
)  # fmt: skip


def is_renewable(held: License) -> bool:
    """Return whether another licence can start at its end."""
    return held.status == LicenseStatus.ACTIVE and held.expires_at is not None and held.expires_at < STARTS_BEFORE


def end_of_term(held: License, start: datetime) -> datetime | None:
    """Return the end of a term as long as the licence's; None if it has no end, or one after the year 9999.

    The term is in whole months if the licence's is: in UTC, or in the operator's time zone, whose offset may change.
    Of both, the one counts in which the licence starts at midnight: a month from there may be another one elsewhere.
    """
    if held.expires_at is None:
        return None
    try:
        for zone in sorted((UTC, get_current_timezone()), key=lambda one: not is_midnight(held.starts_at, one)):
            first, last = held.starts_at.astimezone(zone), held.expires_at.astimezone(zone)
            months = (last.year - first.year) * 12 + last.month - first.month
            if months and add_months(held.starts_at, months, zone) == held.expires_at:
                return add_months(start, months, zone)
        return start + (held.expires_at - held.starts_at)
    except (ValueError, OverflowError):
        return None


def is_midnight(moment: datetime, zone: tzinfo) -> bool:
    return moment.astimezone(zone).time() == time.min


def renewal(held: License, now: datetime) -> dict[str, object]:
    """Return the same terms, starting at the licence's end, or now if it has ended."""
    start = now if held.expires_at is None else max(held.expires_at, now)
    return {
        **copied_terms(held),
        "requester_own_id": held.requester.requester_id,
        "starts_at": start,
        "expires_at": end_of_term(held, start),
    }


def duplicate(held: License, now: datetime) -> dict[str, object]:
    """Return the same terms starting now, without requester: a second licence for the same one would be
    booked twice.
    """
    return {**copied_terms(held), "expires_at": end_of_term(held, now)}


def copied_terms(held: License) -> dict[str, object]:
    """Return the terms as the form's values, with the monthly quota."""
    quota = Quota.from_license(held)
    quota_fields = {} if quota is None else quota.as_fields()
    return {"account": held.account_id, **{name: getattr(held, name) for name in KEPT}, **quota_fields}


class FollowUps(ScopedAdmin[License]):
    """Adds `renew` and `duplicate` to the admin of licences; list them in `actions_detail`."""

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, str | list[str]]:
        for name, filled_in in ((RENEWED, renewal), (DUPLICATED, duplicate)):
            if name in request.GET:
                terms = filled_in(self.found(request, request.GET[name]), timezone.now())
                return cast("dict[str, str | list[str]]", terms)  # a form takes any value
        return super().get_changeform_initial_data(request)

    def has_duplicating_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        return request.user.has_perm("licensing.add_license")

    def has_renewing_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        if not self.has_duplicating_permission(request):
            return False
        return object_id is None or is_renewable(self.found(request, object_id))

    @action(description="Renew", icon="autorenew", permissions=["renewing"], url_path="renew")
    def renew(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.filled_in(request, RENEWED, self.found(request, object_id))

    @action(description="Duplicate", icon="content_copy", permissions=["duplicating"], url_path="duplicate")
    def duplicate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self.filled_in(request, DUPLICATED, self.found(request, object_id))

    def filled_in(self, request: HttpRequest, how: str, held: License) -> HttpResponse:
        source = f"the licence {held.license_type} of {held.requester}"
        messages.info(request, f"Filled in from {source}. Nothing is issued until you save.")
        return redirect(f"{reverse('admin:licensing_license_add')}?{how}={held.pk}")
