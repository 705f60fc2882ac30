from django.core.management.base import CommandParser

from accounts.keys import services
from accounts.keys.models import ApiKey
from accounts.keys.serializers import ApiKeySerializer
from kit.commands import ServiceCommand
from kit.rest.resources import find


class Command(ServiceCommand):
    help = "Revokes an API key at once, in every process."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("id")

    def perform(self, *, id: str, **_: object) -> tuple[str, dict[str, object]]:
        key = services.revoke_api_key(find(ApiKey.objects.all(), id))
        return f"Revoked {key.pk} ({key.prefix}…).", ApiKeySerializer(key).data
