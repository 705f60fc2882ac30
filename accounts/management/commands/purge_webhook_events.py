from datetime import timedelta

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from accounts.events.retention import purge
from kit.commands import ServiceCommand
from kit.storage.reading import stored_now

MAX_DAYS = 3_650


class Command(ServiceCommand):
    help = "Deletes the events of /v1/events that are older than EVENT_RETENTION_DAYS, with their deliveries."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--keep-days",
            type=int,
            default=settings.EVENT_RETENTION_DAYS,
            help="Days to keep, instead of the setting.",
        )

    def perform(self, *, keep_days: int, **_: object) -> tuple[str, dict[str, object]]:
        if not 0 <= keep_days <= MAX_DAYS:
            raise CommandError(f"--keep-days takes 0 to {MAX_DAYS:,} days.")
        count = purge(stored_now() - timedelta(days=keep_days))
        return f"Deleted {count} events.", {"deleted": count}
