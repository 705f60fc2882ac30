from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser

from accounts.management.account_options import LIMITS, SETTINGS, add_limits, add_settings, check_limits
from accounts.plans import services
from accounts.plans.models import Account, Plan
from accounts.plans.rendering import render_account
from kit.commands import ServiceCommand
from kit.rest.resources import find


class Command(ServiceCommand):
    help = "Changes an account, effective with the next request."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("id", help="The account (acc_…).")
        parser.add_argument("--name")
        parser.add_argument("--plan", choices=Plan.values, help="Leaving the enterprise plan removes its limits.")
        add_limits(parser)
        add_settings(parser)

    def perform(self, *, id: str, plan: str | None, **options: object) -> tuple[str, dict[str, object]]:
        account = find(Account.objects.all(), id)
        changes = {name: options[name] for name in ("name", *SETTINGS) if options[name] is not None}
        limits = {name: options[name] for name in LIMITS if options[name] is not None}
        if plan is not None or limits:
            changes |= plan_with_limits(account, plan or account.plan, limits)
        if not changes:
            raise ValidationError("Nothing to change. Add an option, such as --time-zone.")
        account = services.update_account(account, changes)
        return f"Changed the account {account.pk}.", render_account(account)


def plan_with_limits(account: Account, plan: str, limits: dict[str, object]) -> dict[str, object]:
    """Return the plan with all its limits; those not given stay.

    Raises ValidationError if they do not fit the plan.
    """
    limits_of_plan = {name: getattr(account, name) if plan == Plan.ENTERPRISE else None for name in LIMITS}
    merged = {**limits_of_plan, **limits}
    check_limits(plan, merged)
    return {"plan": plan, **merged}
