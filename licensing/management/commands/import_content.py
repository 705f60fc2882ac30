import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import TypedDict, Unpack

from django.core.management.base import CommandError, CommandParser

from accounts.models import Account
from kit.commands import ServiceCommand
from kit.rest.resources import find
from kit.values.numbers import count_text
from licensing.imports.dates import ORDERS, Order
from licensing.imports.files import FORMATS, open_rows
from licensing.imports.importer import Import, ImportTotals
from licensing.imports.mapping import parse_pairs
from licensing.imports.problems import Problems
from licensing.policies.facts import ContentType

SHOW_EVERY = 0.5  # seconds


class Options(TypedDict):
    file: str
    account: str
    format: str | None
    map: list[str] | None
    default: list[str]
    type: str | None
    allow_duplicates: bool
    dry_run: bool
    dates: Order | None


class Command(ServiceCommand):
    help = "Creates and updates content from CSV, JSON or a sitemap, plain or gzipped (docs/guides/importing.md)."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", help="A path, or - for the standard input.")
        parser.add_argument("--account", required=True, metavar="ID")
        parser.add_argument("--format", choices=FORMATS, help="Where the file's name does not tell.")
        parser.add_argument(
            "--map",
            action="append",
            metavar="FIELD=COLUMN",
            help="Repeat for several. Without it, columns are called as the API's fields are.",
        )
        parser.add_argument(
            "--default",
            action="append",
            default=[],
            metavar="FIELD=VALUE",
            help="What a field gets where the row gives nothing. Repeat for several.",
        )
        parser.add_argument(
            "--dates", choices=ORDERS, help="How to read 04/05/2026. Detected unless given; 04.05.2026 is day-first."
        )
        parser.add_argument("--type", choices=list(ContentType), help="The same as --default type=TYPE.")
        parser.add_argument("--allow-duplicates", action="store_true", help="Take rows without an externalId.")
        parser.add_argument("--dry-run", action="store_true", help="Check and count everything, and write nothing.")

    def handle(self, *args: object, **options: object) -> None:
        self.tally = ImportTotals()
        self.problems = Problems()
        super().handle(*args, **options)
        if self.tally.failed == self.tally.rows:
            raise CommandError("No row could be loaded." if self.tally.rows else "The file has no rows.")

    def perform(self, **options: Unpack[Options]) -> tuple[str, dict[str, object]]:
        account = find(Account.objects.all(), options["account"])
        columns = None if options["map"] is None else parse_pairs("--map", options["map"])
        defaults = parse_pairs("--default", options["default"])
        if options["type"]:
            defaults["type"] = options["type"]
        with open_rows(options["file"], options["format"]) as file:
            work = Import(
                account.pk,
                file,
                columns,
                defaults,
                allow_duplicates=options["allow_duplicates"],
                dry_run=options["dry_run"],
                dates=options["dates"],
            )
            self.tally = work.tally
            if file.read_as:
                self.stderr.write(f"The file was read as {file.read_as}.")
            if work.ignored and columns is None:
                self.stderr.write(f"Columns left aside: {', '.join(filter(None, work.ignored[:30]))}.")
            try:
                work.run(self.report, self.progress(work.survey.rows))
            except KeyboardInterrupt:
                progress = f"{self.tally.rows:,} of {work.survey.rows:,} rows"
                raise CommandError(
                    f"Interrupted. {progress} are done and stay; run it again for the rest.", returncode=130
                ) from None
            finally:
                for problem, count in self.problems.more():
                    self.stderr.write(f"{count_text(count, 'more line')}: {problem}")
        return " ".join([summary(self.tally, options["dry_run"]), *work.notes]), {
            "object": "content_import",
            "understoodPercent": self.tally.understood_percent,
            **asdict(self.tally),
            "dryRun": options["dry_run"],
            "notes": work.notes,
        }

    def report(self, line: int, problem: str) -> None:
        if self.problems.note(line, problem):
            self.stderr.write(f"{self.clear}line {line}: {problem}")

    @property
    def clear(self) -> str:
        """The escape sequence that clears the progress line of a terminal."""
        return "\r\x1b[K" if self.stderr.isatty() else ""

    def progress(self, rows: int) -> Callable[[ImportTotals], None]:
        began = shown_at = time.monotonic()

        def show(tally: ImportTotals) -> None:
            nonlocal shown_at
            now = time.monotonic()
            if self.stderr.isatty() and (now - shown_at >= SHOW_EVERY or tally.rows == rows):
                shown_at = now
                rate = tally.rows / (now - began)
                end = "\n" if tally.rows == rows else ""
                print(
                    f"{self.clear}{tally.rows:,} of {rows:,} rows, {rate:,.0f}/s",
                    end=end,
                    file=sys.stderr,
                    flush=True,
                )

        return show


def summary(tally: ImportTotals, dry_run: bool) -> str:
    summary = (
        f"{tally.rows:,} rows: {tally.created:,} created, {tally.updated:,} updated, "
        f"{tally.unchanged:,} unchanged, {tally.failed:,} bad"
    )
    if tally.failed:
        summary += f" ({tally.understood_percent:g} % understood)"
    if tally.superseded:
        summary += f", {tally.superseded:,} superseded by later ones with the same externalId"
    if dry_run:
        return f"Dry run, nothing written: {summary}."
    return f"{summary}."
