"""Accounts and their plans."""

from functools import partial
from typing import ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from accounts.keys.states import State, is_in
from accounts.models import PLAN_LIMITS, Account, ApiKey, Plan, Unknown
from accounts.plans import services
from analytics.archive.lookup import count_archived
from analytics.models import AccessEvent
from kit.rest.heavy_mark import heavy
from kit.values.currencies import CURRENCIES
from licensing.account_deletion import delete_account, keeps_ledger
from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.policies.models import Policy
from licensing.requesters.models import Requester
from operators.base.fields import CountField, Values
from operators.base.forms.confirmation import Confirmation, confirmed_action, with_typed_name
from operators.base.links import list_url, text_link
from operators.base.mixins import ServiceForm
from operators.base.model_admin import ServiceAdmin
from operators.base.pages import EmptyState
from operators.base.times import zone_choices

LIMITS_HELP = "Only for the enterprise plan; other plans have fixed limits."
EDGE_HELP = "Only for the enterprise plan. Empty: ten times the requests above. Nothing is refused beyond it."
EDGE_FIELDS = ("edge_requests_per_minute", "edge_requests_per_day")
SETTING_FIELDS = ("time_zone", "currency", "address", "unlisted_signers", "unknown_host", "visitor_addresses")


class AccountForm(ServiceForm):
    time_zone = forms.ChoiceField(
        choices=zone_choices,
        initial="UTC",
        help_text="Months of refills begin by its clock. Those that have begun do not move.",
    )
    currency = forms.ChoiceField(
        choices=[(code, code) for code in CURRENCIES],
        initial="USD",
        help_text="The account's own currency.",
    )
    unknown_host = forms.ChoiceField(
        label="Hosts without a site",
        initial=Unknown.ALLOW.value,
        choices=Unknown.choices,
        help_text="Whether visitors are let in at hosts that the account has no site for.",
    )

    class Meta:
        model = Account
        fields = ("name", *SETTING_FIELDS)
        widgets: ClassVar = {"address": forms.Textarea(attrs={"rows": 3})}


def limit_field(help_text: str) -> forms.IntegerField:
    return CountField(required=False, min_value=1, help_text=help_text)


class PlanForm(forms.Form):
    plan = forms.ChoiceField(choices=Plan.choices)
    requests_per_minute = limit_field(LIMITS_HELP)
    requests_per_day = limit_field(LIMITS_HELP)
    edge_requests_per_minute = limit_field(EDGE_HELP)
    edge_requests_per_day = limit_field(EDGE_HELP)


MAX_COUNTED = 10_000
MAX_DECISIONS = 100_000  # most decisions that a request may delete
COUNTED_ROWS = {
    "Items": Content.objects.filter(deleted_at=None),
    "Policies": Policy.objects.filter(deleted_at=None),
    "Customers": Requester.objects.all(),
    "Licences": License.objects.all(),
    "Decisions": AccessEvent.objects.all(),
}


def count_rows(account: Account) -> list[tuple[str, str]]:
    """Count the account's rows by kind, up to MAX_COUNTED."""
    facts = []
    for name, rows in COUNTED_ROWS.items():
        number = rows.filter(account=account).order_by().values("pk")[: MAX_COUNTED + 1].count()
        if rows.model is AccessEvent:
            number += count_archived(account.pk)
        facts.append((name, f"{number:,}" if number <= MAX_COUNTED else f"more than {MAX_COUNTED:,}"))
    return facts


def why_kept(account: Account) -> str:
    """Return why the account cannot be deleted here; empty if it can."""
    if keeps_ledger(account):
        return "An account with a ledger cannot be deleted. Suspend it to stop its keys."
    decisions = AccessEvent.objects.filter(account=account).order_by().values("pk")[MAX_DECISIONS : MAX_DECISIONS + 1]
    if decisions.exists():
        command = "remove_demo" if account.is_demo else "delete_account"
        return f"It has more than {MAX_DECISIONS:,} decisions: `manage.py {command} {account.pk}` deletes it."
    return ""


@admin.register(Account)
class AccountAdmin(ServiceAdmin[Account]):
    account_field = "pk"
    empty_state = EmptyState("An account is one publisher. It owns keys, policies and content.")
    list_display = ("name", "state", "plan", "per_minute", "per_day", "created")
    list_filter = (("plan", ChoicesDropdownFilter),)
    phone_row_columns = {"state": "", "plan": "", "per_minute": "a minute:"}
    fieldset_headings = {"plan": "Plan and limits", "working_keys": "Use"}
    search_fields = ("name",)
    ordering = ("name", "pk")
    form = AccountForm
    add_fieldsets = (
        (None, {"fields": ("name", "plan", "requests_per_minute", "requests_per_day", *EDGE_FIELDS, *SETTING_FIELDS)}),
    )
    fields = (
        "name", *SETTING_FIELDS, "identifier", "state", "plan", "per_minute", "per_day", "at_edge", "working_keys",
        "figures", "created",
    )  # fmt: skip
    actions_detail = ("change_plan", "suspend", "resume", "delete_account")
    rights = {"working_keys": "accounts.view_apikey"}

    def grantable(self) -> frozenset[str]:
        return super().grantable() - {"add"}  # reserved for superusers

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Allow only superusers, because others would not see the new account."""
        return super().has_add_permission(request) and request.user.is_superuser

    def create(self, request: HttpRequest, fields: Values) -> Account:
        del fields["account"]
        return services.create_account(**fields)

    def update(self, request: HttpRequest, obj: Account, fields: Values) -> Account:
        return services.update_account(obj, fields)

    @confirmed_action("Change the plan", "speed", "plan")
    def change_plan(self, request: HttpRequest, account: Account) -> Confirmation:
        def current(*, lock: bool) -> dict[str, object]:
            stored = self.locked(account) if lock else account
            if stored is None:
                return {}
            return self.editable_state(stored, PlanForm.base_fields)

        def perform(fields: Values) -> str:
            changed = services.update_account(account, fields)
            per_minute, per_day = changed.limits
            return f"{changed.name} is on the plan {changed.plan}: {per_minute:,} a minute, {per_day:,} a day."

        per_minute, per_day = account.limits
        plans = "; ".join(f"{plan}: {minute:,} and {day:,}" for plan, (minute, day) in PLAN_LIMITS.items())
        return Confirmation(
            title=f"Change the plan of {account.name}?",
            facts=[
                ("Plan", account.plan),
                ("Requests", f"{per_minute:,} a minute, {per_day:,} a day"),
                ("At the edge", self.at_edge(account)),
                ("Working keys", f"{self.count_keys(account):,}"),
            ],
            effects=[
                "The new limits apply from the next request on, to all of its keys together.",
                "Requests over a lower limit are refused with status 429 until the minute or the day ends.",
                "At the edge no visitor is refused. Above the limit an event is sent, and the overview shows it.",
                f"Requests a minute and a day. {plans}; enterprise: as entered here.",
            ],
            button="Change the plan",
            form=PlanForm,
            initial={name: getattr(account, name) for name in PlanForm.base_fields},
            perform=perform,
            current=current,
        )

    def hidden_actions(self, account: Account) -> list[str]:
        return ["resume"] if account.suspended_at is None else ["suspend"]

    @confirmed_action("Suspend", "block", "suspend", danger=True)
    def suspend(self, request: HttpRequest, account: Account) -> Confirmation:
        return Confirmation(
            title=f"Suspend {account.name}?",
            facts=[("Plan", account.plan), ("Working keys", f"{self.count_keys(account):,}")],
            effects=[
                "All of its keys are refused at once, and no check is decided.",
                "Its items, policies, licences, decisions and ledger stay as they are.",
                "It can be resumed at any time; the same keys then work again.",
            ],
            button="Suspend it",
            perform=partial(services.suspend_account, account),
            done=f"{account.name} is suspended.",
        )

    @confirmed_action("Resume", "play_arrow", "resume")
    def resume(self, request: HttpRequest, account: Account) -> Confirmation:
        return Confirmation(
            title=f"Resume {account.name}?",
            effects=["Its keys work again at once."],
            button="Resume it",
            perform=partial(services.suspend_account, account, suspended=False),
            done=f"{account.name} is resumed.",
        )

    def has_removing_permission(self, request: HttpRequest, object_id: str | None = None) -> bool:
        """Allow only superusers, as for creating accounts."""
        return bool(request.user.is_superuser)

    @heavy
    @confirmed_action("Delete", "delete", "remove", permission="removing", danger=True)
    def delete_account(self, request: HttpRequest, account: Account) -> Confirmation:
        title = f"Delete {account.name}?"
        facts = [("Working keys", f"{self.count_keys(account):,}"), *count_rows(account)]
        if reasons := why_kept(account):

            def refuse() -> None:
                raise ValidationError(reasons)

            return Confirmation(title=title, facts=facts, effects=[reasons], button="", perform=refuse)

        def perform(_fields: object) -> None:
            delete_account(account)

        owned = "keys, items, policies, sites, customers, licences and decisions"
        if account.is_demo:
            owned += ", and the ledger, for it is a demo"
        return Confirmation(
            title=title,
            facts=facts,
            effects=[
                f"All of this is deleted: its {owned}.",
                "Its entries in the audit log remain.",
                "This cannot be undone. To stop it for a while, suspend it.",
            ],
            button="Delete it",
            form=with_typed_name(account.name),
            perform=perform,
            done=f"The account {account.name} is deleted.",
            next_page="admin:accounts_account_changelist",
        )

    @display(description="State", label={"active": "success", "suspended": "danger"})
    def state(self, account: Account) -> str:
        return "suspended" if account.suspended_at else "active"

    @staticmethod
    def count_keys(account: Account) -> int:
        return account.api_keys.filter(is_in(State.ACTIVE, timezone.now())).count()

    @display(description="Requests a minute")
    def per_minute(self, account: Account) -> str:
        return f"{account.limits[0]:,}"

    @display(description="Requests a day")
    def per_day(self, account: Account) -> str:
        return f"{account.limits[1]:,}"

    @display(description="At the edge")
    def at_edge(self, account: Account) -> str:
        per_minute, per_day = account.edge_limits
        return f"{per_minute:,} questions of proxies a minute, {per_day:,} a day"

    @display(description="Working keys")
    def working_keys(self, account: Account) -> str:
        address = list_url(ApiKey, account__id__exact=account.pk, state=State.ACTIVE.value)
        return text_link(address, f"{self.count_keys(account):,}")

    @display(description="Figures")
    def figures(self, account: Account) -> str:
        """Link to the account's overview."""
        return text_link(f"{reverse('admin:index')}?account={account.pk}", "Usage and revenue")
