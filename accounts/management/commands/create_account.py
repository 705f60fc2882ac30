from django.core.management.base import CommandParser

from accounts.management.account_options import LIMITS, SETTINGS, add_limits, add_settings, check_limits
from accounts.plans import services
from accounts.plans.models import Plan
from accounts.plans.rendering import render_account
from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = "Creates an account."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name")
        parser.add_argument("--plan", choices=Plan.values, default=Plan.STARTER.value)
        add_limits(parser)
        add_settings(parser)

    def perform(self, *, name: str, plan: str, **options: object) -> tuple[str, dict[str, object]]:
        limits = {limit: options[limit] for limit in LIMITS}
        check_limits(plan, limits)
        settings = {setting: options[setting] for setting in SETTINGS if options[setting] is not None}
        account = services.create_account(name, plan=plan, **limits, **settings)
        return f"Created the account {account.pk} ({account.plan}).", render_account(account)
