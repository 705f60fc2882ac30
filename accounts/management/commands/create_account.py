from django.core.management.base import CommandParser

from accounts.management.account_options import add_limits, add_settings, check_limits
from accounts.plans import services
from accounts.plans.models import Plan, Unknown, UnlistedSigners, VisitorAddresses
from accounts.plans.serializers import AccountSerializer
from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = "Creates an account."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name")
        parser.add_argument("--plan", choices=Plan.values, default=Plan.STARTER.value)
        add_limits(parser)
        add_settings(parser)
        parser.set_defaults(
            unlisted_signers=UnlistedSigners.DENY.value,
            unknown_host=Unknown.ALLOW.value,
            visitor_addresses=VisitorAddresses.TRUNCATED.value,
            time_zone="UTC",
            currency="USD",
            billing_details="",
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
        unknown_host: str,
        visitor_addresses: str,
        time_zone: str,
        currency: str,
        billing_details: str,
        **_: object,
    ) -> tuple[str, dict[str, object]]:
        check_limits(
            plan,
            {
                "requests_per_minute": requests_per_minute,
                "requests_per_day": requests_per_day,
                "edge_requests_per_minute": edge_requests_per_minute,
                "edge_requests_per_day": edge_requests_per_day,
            },
        )
        account = services.create_account(
            name,
            plan=plan,
            requests_per_minute=requests_per_minute,
            requests_per_day=requests_per_day,
            edge_requests_per_minute=edge_requests_per_minute,
            edge_requests_per_day=edge_requests_per_day,
            unlisted_signers=unlisted_signers,
            unknown_host=unknown_host,
            visitor_addresses=visitor_addresses,
            time_zone=time_zone,
            currency=currency,
            billing_details=billing_details,
        )
        return f"Created the account {account.pk} ({account.plan}).", AccountSerializer(account).data
