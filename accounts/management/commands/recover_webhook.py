from datetime import datetime

from django.core.management.base import CommandParser

from accounts.events.models import Event
from accounts.webhooks import recovery
from accounts.webhooks.models import WebhookEndpoint
from accounts.webhooks.recovery_serializers import RecoveredSerializer, RecoverySerializer
from kit.commands import ServiceCommand
from kit.rest.resources import find
from kit.values.numbers import count_text


class Command(ServiceCommand):
    help = "Sends a webhook endpoint its failed and waiting deliveries now or, with --since, all it did not get."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("id", help="The endpoint (we_…).")
        parser.add_argument("--since", help="Send every event from this time on that the endpoint did not get.")
        parser.add_argument("--dry-run", action="store_true", help="Print what would be sent, and send nothing.")

    def perform(self, *, id: str, since: str | None, dry_run: bool, **_: object) -> tuple[str, dict[str, object]]:
        body = RecoverySerializer(data={"since": since, "dryRun": dry_run})
        body.is_valid(raise_exception=True)
        start: datetime | None = body.validated_data["since"]
        endpoint = find(WebhookEndpoint.objects.all(), id)
        if dry_run:
            verb = "Would send"
            result = recovery.preview(endpoint, start)
        else:
            verb = "Queued"
            result = recovery.recover(endpoint, start)
        span = f": from {heading(result.first)} to {heading(result.last)}" if result.first and result.last else ""
        return f"{verb} {count_text(result.events, 'event')}{span}.", RecoveredSerializer(result).data


def heading(event: Event) -> str:
    return f"{event.pk} ({event.type}, {event.created:%Y-%m-%d %H:%M:%S} UTC)"
