from pathlib import Path

from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser

from kit.commands import ServiceCommand
from kit.values.unreadable import read_error
from licensing.edge.current_crawlers import current_table
from licensing.edge.verification.published_addresses import creation_date, parse_published, store_addresses


class Command(ServiceCommand):
    help = (
        "Loads the address ranges that a crawler's operator publishes, from JSON files as they are published "
        "(docs/reference/edge.md), in the place of those loaded before. They are stored in DATA_DIR, "
        "not in the database: run it on each machine. Every process there sees them in 5 seconds."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("crawler", help="Its name, as in GPTBot.")
        parser.add_argument("files", nargs="+", metavar="file")

    def perform(self, *, crawler: str, files: list[str], **_: object) -> tuple[str, dict[str, object]]:
        row = {row.key: row for row in current_table.get().crawlers}.get(crawler.lower())
        if row is None:
            raise ValidationError(f"No crawler of the table has the name {crawler}.")
        addresses: list[str] = []
        dates = []
        for file in files:
            try:
                loaded, creation_time = parse_published(Path(file).read_bytes())
            except OSError as error:
                raise ValidationError(read_error(file, error)) from None
            except ValueError as error:
                raise ValidationError(f"{file}: {error}") from None
            addresses += loaded
            dates.append(creation_date(creation_time))
        store_addresses(row.key, addresses)
        count = len(set(addresses))
        date = min(filter(None, dates), default=None)
        text = f"{row.name}: {count} address ranges{f', as of {date}' if date else ''}."
        return text, {"crawler": row.name, "addresses": count, "date": date}
