from pathlib import Path

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser

from kit.commands import ServiceCommand
from kit.values.unreadable import read_error
from licensing.edge.current_crawlers import keep_table


class Command(ServiceCommand):
    help = (
        "Replaces the table of known crawlers by an updated file (docs/reference/edge.md). "
        "Every process sees it in 5 seconds."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file")

    def perform(self, *, file: str, **_: object) -> tuple[str, dict[str, object]]:
        try:
            content = Path(file).read_bytes()
        except OSError as error:
            raise ValidationError(read_error(file, error)) from None
        try:
            table = keep_table(content)
        except ValueError as error:
            raise ValidationError(f"{file}: {error}") from None
        count = len(table.crawlers)
        date = table.date.isoformat()
        return f"{count} crawlers, as of {date}.", {"crawlers": count, "date": date}
