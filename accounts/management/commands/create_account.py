from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser

from accounts.plans import services
from accounts.plans.models import Plan, UnlistedSigners
from accounts.plans.serializers import AccountSerializer
from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = "Creates an account."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name")
        parser.add_argument("--plan", choices=Plan.values, default=Plan.STARTER.value)
        parser.add_argument("--requests-per-minute", type=int, help="For the enterprise plan.")
        parser.add_argument("--requests-per-day", type=int, help="For the enterprise plan.")
        parser.add_argument(
            "--edge-requests-per-minute",
            type=int,
            help="For the enterprise plan; default: ten times --requests-per-minute.",
        )
        parser.add_argument(
            "--edge-requests-per-day", type=int, help="For the enterprise plan; default: ten times --requests-per-day."
        )

        parser.add_argument(
            "--unlisted-signers",
            choices=UnlistedSigners.values,
            default=UnlistedSigners.DENY.value,
            help="Whether signers that the table of crawlers does not list can pay at the edge; default: deny.",
        )

    def perform(
        self,
        *,
        name: str,
        plan: str,
        requests_per_minute: int | None,
        requests_per_day: int | None,
        edge_requests_per_minute: int | None,
        edge_requests_per_day: int | None,
        unlisted_signers: str,
        **_: object,
    ) -> tuple[str, dict[str, object]]:
        own = {"--requests-per-minute": requests_per_minute, "--requests-per-day": requests_per_day}
        edge = {
            "--edge-requests-per-minute": edge_requests_per_minute,
            "--edge-requests-per-day": edge_requests_per_day,
        }
        if plan == Plan.ENTERPRISE and (missing := [option for option, number in own.items() if number is None]):
            raise ValidationError(f"The enterprise plan needs limits of its own: add {' and '.join(missing)}.")
        given = [option for option, number in {**own, **edge}.items() if number is not None]
        if plan != Plan.ENTERPRISE and given:
            raise ValidationError(f"{' and '.join(given)}: only --plan enterprise has limits of its own.")
        account = services.create_account(
            name,
            plan=plan,
            requests_per_minute=requests_per_minute,
            requests_per_day=requests_per_day,
            edge_requests_per_minute=edge_requests_per_minute,
            edge_requests_per_day=edge_requests_per_day,
            unlisted_signers=unlisted_signers,
        )
        return f"Created the account {account.pk} ({account.plan}).", AccountSerializer(account).data
