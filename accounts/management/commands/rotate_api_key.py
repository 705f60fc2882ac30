from django.core.management.base import CommandParser

from accounts.keys import services
from accounts.keys.models import ApiKey
from accounts.keys.serializers import CreatedApiKeySerializer, RotationSerializer
from kit.commands import ServiceCommand
from kit.rest.resources import find


class Command(ServiceCommand):
    help = "Replaces an API key by a new one with the same grants and prints the new text, which is shown this once."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("id")
        parser.add_argument("--overlap-seconds", type=int, default=0, help="For how long the old key keeps working.")

    def perform(self, *, id: str, overlap_seconds: int, **_: object) -> tuple[str, dict[str, object]]:
        rotation = RotationSerializer(data={"overlapSeconds": overlap_seconds})
        rotation.is_valid(raise_exception=True)
        old = find(ApiKey.objects.all(), id)
        key, text = services.rotate_api_key(old, **rotation.validated_data)
        return (
            f"Created {key.pk} in place of {old.pk}. Its text, shown this once:\n{text}",
            CreatedApiKeySerializer(key, context={"key_text": text}).data,
        )
