from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = (
        "Copies the decisions of closed months into an Apache Iceberg table in ARCHIVE_DIR, verifies them, and "
        "removes what was purged or erased (docs/guides/archive.md). If it is interrupted, run it again to continue."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        help_text = "Discard the archive and copy everything again, for example after the database was restored."
        parser.add_argument("--anew", action="store_true", help=help_text)

    def perform(self, *, anew: bool, **_: object) -> tuple[str, dict[str, object]]:
        try:
            from analytics.archive.copying import archive  # noqa: PLC0415 - packages that are not always there
        except ModuleNotFoundError as error:
            raise CommandError(f"{error}. docs/guides/archive.md says what to install.") from None
        copied, removed = archive(timezone.now(), anew=anew)
        return f"Archived {copied} months and removed {removed}.", {"archived": copied, "removed": removed}
