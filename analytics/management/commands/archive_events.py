from datetime import timedelta

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from kit.commands import ServiceCommand
from kit.storage.reading import stored_now
from kit.values.timestamps import render_timestamp


class Command(ServiceCommand):
    help = (
        "Copies the decisions of closed months into an Apache Iceberg table in ARCHIVE_DIR, verifies them, and "
        "removes what was purged or erased (docs/guides/archive.md). If it is interrupted, run it again to continue."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        help_text = "Discard the archive and copy everything again, for example after the database was restored."
        parser.add_argument("--anew", action="store_true", help=help_text)
        help_text = (
            "Then remove archived months from the database, if they have been over for ARCHIVE_AFTER_DAYS. "
            "The API reads them from the archive. With ARCHIVE_AFTER_DAYS this is the default."
        )
        parser.add_argument("--drop", action="store_true", help=help_text)

    def perform(self, *, anew: bool, drop: bool, **_: object) -> tuple[str, dict[str, object]]:
        try:
            from analytics.archive.copying import update_archive  # noqa: PLC0415 - packages that are not always there
            from analytics.archive.dropping import drop_archived  # noqa: PLC0415 - as above
        except ModuleNotFoundError as error:
            raise CommandError(f"{error}. docs/guides/archive.md says what to install.") from None
        now = stored_now()
        days = settings.ARCHIVE_AFTER_DAYS
        copied, removed = update_archive(now, discard_copies=anew)
        message = f"Archived {copied} months, and deleted {removed} from the archive."
        result: dict[str, object] = {"archived": copied, "removed": removed}
        if drop or days:
            begin = drop_archived(now, now - timedelta(days=days))
            result["databaseBegins"] = render_timestamp(begin)
            if begin is not None:
                message += f" The database has the decisions from {begin:%Y-%m-%d} on."
        return message, result
