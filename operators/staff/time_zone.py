"""An operator's own time zone: the page to choose it, and the choice."""

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

from django import forms
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from accounts.models import StaffTimeZone
from kit.values.time_zones import zone_names
from operators.base.mixins import StyledForm
from operators.base.requests import signed_in
from operators.base.times import zone_choices


def operator_zone(user: User) -> tzinfo:
    """Return the operator's time zone: UTC if none was chosen, or if the zone no longer exists."""
    name = StaffTimeZone.objects.filter(user=user).values_list("name", flat=True).first()
    return ZoneInfo(name) if name in zone_names() else UTC


class TimeZoneForm(StyledForm, forms.Form):
    time_zone = forms.ChoiceField(
        choices=zone_choices,
        label="Time zone",
        help_text="Pages and forms of the admin use it. Point at a time to see it in UTC.",
    )


def time_zone_page(request: HttpRequest, site: AdminSite) -> HttpResponse:
    user = signed_in(request)
    form = TimeZoneForm(request.POST or None, initial={"time_zone": timezone.get_current_timezone_name()})
    if request.method == "POST" and form.is_valid():
        name = form.cleaned_data["time_zone"]
        StaffTimeZone.objects.update_or_create(user=user, defaults={"name": name})
        messages.success(request, f"Times are shown in {name}.")
        return redirect("admin:time_zone")
    context = {**site.each_context(request), "title": "Time zone", "form": form, "now": timezone.now()}
    return TemplateResponse(request, "operators/time_zone.html", context)
