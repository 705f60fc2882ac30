"""Accounts and their plans."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget

from accounts import services
from accounts.key_states import State, is_in
from accounts.models import PLAN_LIMITS, Account, ApiKey, Plan
from operators.base.confirmation import confirm
from operators.base.links import list_url
from operators.base.model_admin import ServiceAdmin
from operators.base.stale_forms import state_digest

LIMITS_HELP = "For the enterprise plan alone: the others have their own."


class PlanForm(forms.Form):
    """`as_opened` is what the page was opened at: who changes one of the limits does not undo another's change."""

    as_opened = forms.CharField(widget=forms.HiddenInput)
    plan = forms.ChoiceField(choices=Plan.choices, widget=UnfoldAdminSelectWidget)
    requests_per_minute = forms.IntegerField(
        required=False, min_value=1, widget=UnfoldAdminIntegerFieldWidget, help_text=LIMITS_HELP
    )
    requests_per_day = forms.IntegerField(
        required=False, min_value=1, widget=UnfoldAdminIntegerFieldWidget, help_text=LIMITS_HELP
    )


@admin.register(Account)
class AccountAdmin(ServiceAdmin):
    account_field = "pk"
    list_display = ("name", "plan", "per_minute", "per_day", "created")
    list_filter = (("plan", ChoicesDropdownFilter),)
    search_fields = ("name",)
    ordering = ("name", "pk")
    add_fieldsets = ((None, {"fields": ("name", "plan", "requests_per_minute", "requests_per_day")}),)
    fields = ("name", "identifier", "plan", "per_minute", "per_day", "working_keys", "figures", "created")
    actions_detail = ("change_plan",)
    rights = {"working_keys": "accounts.view_apikey"}

    def get_readonly_fields(self, request: HttpRequest, obj: Account | None = None) -> tuple[str, ...]:
        return ("identifier", "plan", "per_minute", "per_day", "working_keys", "figures", "created") if obj else ()

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Who sees some accounts only would not see the new one."""
        return super().has_add_permission(request) and request.user.is_superuser

    def create(self, request: HttpRequest, fields: dict[str, Any]) -> Account:
        return services.create_account(fields.pop("name"), account_id=fields.pop("id"), **fields)

    def update(self, request: HttpRequest, obj: Account, fields: dict[str, Any]) -> Account:
        return services.update_account(obj, fields)

    @action(description="Change the plan", icon="speed", permissions=["changing"], url_path="plan")
    def change_plan(self, request: HttpRequest, object_id: str) -> HttpResponse:
        account = self.found(request, object_id)

        def stands(now: Account) -> str:
            return state_digest(self.editable_state(now, PlanForm.base_fields))

        @transaction.atomic
        def perform(fields: dict[str, Any]) -> str:
            if fields.pop("as_opened") != stands(self.locked(account)):
                raise ValidationError("Somebody else changed the plan or its limits meanwhile. Open this page again.")
            changed = services.update_account(account, fields)
            per_minute, per_day = changed.limits
            self.log_change(
                request, changed, f"Plan: {account.plan} → {changed.plan}, {per_minute}/min, {per_day}/day."
            )
            return f"{changed.name} is on the plan {changed.plan}: {per_minute:,} a minute, {per_day:,} a day."

        per_minute, per_day = account.limits
        plans = "; ".join(f"{plan}: {minute:,} and {day:,}" for plan, (minute, day) in PLAN_LIMITS.items())
        return confirm(
            request,
            self,
            obj=account,
            title=f"Change the plan of {account.name}?",
            facts=[
                ("Plan", account.plan),
                ("Requests", f"{per_minute:,} a minute, {per_day:,} a day"),
                ("Working keys", f"{self.keys_of(account):,}"),
            ],
            effects=[
                "The new limits hold from the next request on, for all of its keys together.",
                "With lower limits, what is over them is refused with status 429 until the minute or the day ends.",
                f"Requests a minute and a day. {plans}; enterprise: as you say here.",
            ],
            button="Change the plan",
            form=PlanForm,
            initial={
                "as_opened": stands(account),
                "plan": account.plan,
                "requests_per_minute": account.requests_per_minute,
                "requests_per_day": account.requests_per_day,
            },
            perform=perform,
        )

    @staticmethod
    def keys_of(account: Account) -> int:
        return account.api_keys.filter(is_in(State.ACTIVE, timezone.now())).count()

    @display(description="Requests a minute")
    def per_minute(self, account: Account) -> str:
        return f"{account.limits[0]:,}"

    @display(description="Requests a day")
    def per_day(self, account: Account) -> str:
        return f"{account.limits[1]:,}"

    @display(description="Working keys")
    def working_keys(self, account: Account) -> str:
        address = list_url(ApiKey, account__id__exact=account.pk, state=State.ACTIVE.value)
        return format_html('<a class="text-link" href="{}">{}</a>', address, f"{self.keys_of(account):,}")

    @display(description="Figures")
    def figures(self, account: Account) -> str:
        """The overview of this account."""
        return format_html(
            '<a class="text-link" href="{}?account={}">Usage and revenue</a>', reverse("admin:index"), account.pk
        )
