from datetime import timedelta

from django.core.management.base import CommandError, CommandParser

from analytics.events.partitions import has_partitions
from analytics.events.retention import purge_events
from kit.commands import ServiceCommand
from kit.storage.reading import stored_now

MAX_DAYS = 36_500


class Command(ServiceCommand):
    help = "Deletes the recorded decisions of whole months that are over for longer than the days given."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--keep-days", type=int, required=True, help="At least this many days are kept.")

    def perform(self, *, keep_days: int, **_: object) -> tuple[str, dict[str, object]]:
        if not 0 <= keep_days <= MAX_DAYS:
            raise CommandError(f"--keep-days takes 0 to {MAX_DAYS:,} days.")
        partitions, archived, events = purge_events(stored_now() - timedelta(days=keep_days))
        result: dict[str, object] = {"deleted": events, "archivedMonths": archived}
        if has_partitions():
            result["dropped"] = partitions
            sentence = f"Dropped {', '.join(partitions) or 'no partition'}."
            if events:
                sentence += f" Deleted {events} decisions of the default partition."
        else:
            sentence = f"Deleted {events} decisions."
        if archived:
            sentence += f" Of the archive, {', '.join(archived)}: the next archive_events deletes the files."
        return sentence, result
