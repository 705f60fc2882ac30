import csv
from io import StringIO

from django.core.management.base import CommandError, CommandParser

from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = (
        "Prints the usage of all accounts by month as CSV, computed from the archive by Spark or another engine that "
        "speaks Spark Connect (docs/guides/archive.md)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--engine", required=True, metavar="URL", help="Such as sc://spark.internal:15002.")
        parser.add_argument("--year", type=int, required=True)

    def perform(self, *, engine: str, year: int, **_: object) -> tuple[str, dict[str, object]]:
        try:
            from analytics.archive.report import COLUMNS, report_usage  # noqa: PLC0415 - not always there
        except ModuleNotFoundError as error:
            raise CommandError(f"{error}. docs/guides/archive.md says what to install.") from None
        rows = report_usage(engine, year)
        table = StringIO()
        writer = csv.DictWriter(table, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return table.getvalue().rstrip(), {"data": rows}
