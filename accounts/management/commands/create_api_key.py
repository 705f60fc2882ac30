from django.core.management.base import CommandParser

from accounts.keys import services
from accounts.keys.bounds import RateLimit, parse_rate_limit
from accounts.keys.models import KeyType
from accounts.keys.serializers import ApiKeySerializer, CreatedApiKeySerializer
from accounts.plans.models import Account
from kit.commands import ServiceCommand
from kit.http.errors import ValidationFailed
from kit.rest.resources import find


def read_rate_limit(text: str | None) -> RateLimit | None:
    """Return the value of --rate-limit. Raises ValidationFailed."""
    try:
        return None if text is None else parse_rate_limit(text)
    except ValueError as error:
        raise ValidationFailed(str(error), param="rateLimit") from None


class Command(ServiceCommand):
    help = "Creates an API key and prints its full text, which is shown this once."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--account", required=True, metavar="ID")
        parser.add_argument("--name", required=True)
        parser.add_argument("--type", choices=KeyType.values, required=True)
        parser.add_argument("--permission", action="append", metavar="PERMISSION", help="Repeat for several.")
        parser.add_argument("--allowed-ip", action="append", metavar="CIDR", help="An address or CIDR range.")
        parser.add_argument(
            "--allowed-host", action="append", metavar="HOST", help="A host that it may ask about at the edge."
        )
        parser.add_argument(
            "--rate-limit",
            metavar="N/PERIOD",
            help="A limit below the plan's, such as 20/minute, 500/hour or 5000/day.",
        )
        parser.add_argument("--expires-at", metavar="TIME", help="ISO 8601 with an offset, or a date.")

    def perform(
        self,
        *,
        account: str,
        name: str,
        type: str,  # noqa: A002 - the option's name
        permission: list[str] | None,
        allowed_ip: list[str] | None,
        allowed_host: list[str] | None,
        rate_limit: str | None,
        expires_at: str | None,
        **_: object,
    ) -> tuple[str, dict[str, object]]:
        owner = find(Account.objects.all(), account)
        fields: dict[str, object] = {
            "name": name,
            "type": type,
            "permissions": permission,
            "allowedIps": allowed_ip,
            "allowedHosts": allowed_host,
            "rateLimit": read_rate_limit(rate_limit),
            "expiresAt": expires_at,
        }
        serializer = ApiKeySerializer(data={name: value for name, value in fields.items() if value is not None})
        serializer.is_valid(raise_exception=True)
        key, text = services.create_api_key(owner.pk, **serializer.validated_data)
        return (
            f"Created the {key.type} key {key.pk}. Its text, shown this once:\n{text}",
            CreatedApiKeySerializer(key, context={"key_text": text}).data,
        )
