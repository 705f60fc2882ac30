import gc
import sys
import time
from argparse import SUPPRESS
from typing import TypedDict, Unpack

from django.core.management.base import CommandError, CommandParser

from kit.commands import ServiceCommand
from kit.http.rendering import render_json
from kit.values.hosts import parse_host
from kit.values.numbers import count_text
from licensing.logs.formats import FORMATS
from licensing.logs.importer import LogImport
from licensing.logs.lines import open_log
from licensing.logs.totals import LogTotals, describe_skipped, present_import
from licensing.sites.models import Site, at_hosts

SHOW_EVERY = 0.5  # seconds


class Options(TypedDict):
    file: str
    site: str
    account: str | None
    format: str | None
    dry_run: bool
    include_live: bool
    most_bytes: int | None
    json: bool


class Command(ServiceCommand):
    help = "Decides and records the requests of an access log; charges nothing (docs/guides/logs.md)."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", help="A path, or - for the standard input.")
        parser.add_argument("--site", required=True, metavar="HOST", help="The site's host, an alias, or its id.")
        parser.add_argument("--account", metavar="ID", help="Needed if several accounts have a site for this host.")
        parser.add_argument(
            "--format",
            help=f"Detected unless given: {', '.join(FORMATS)}; or the format string of Apache, nginx or Envoy.",
        )
        parser.add_argument("--dry-run", action="store_true", help="Decide and count everything, and write nothing.")
        parser.add_argument(
            "--include-live", action="store_true", help="Also import hours in which a proxy asked about the site."
        )
        parser.add_argument("--most-bytes", type=int, help=SUPPRESS)  # of the decompressed log, for the admin

    def perform(self, **options: Unpack[Options]) -> tuple[str, dict[str, object]]:
        site = site_named(options["site"], options["account"])
        work = LogImport(site, options["format"], dry_run=options["dry_run"], with_live=options["include_live"])
        self.shown_at = time.monotonic()
        gc.freeze()  # a tenth of the time would go into visiting the program's own objects again and again
        with open_log(options["file"], options["most_bytes"]) as file:
            totals = work.run(file, self.show)
        for number, problem in totals.problems:
            self.stderr.write(f"Line {number:,}: {problem}")
        for problem, count in totals.problem_kinds.more():
            self.stderr.write(f"{count_text(count, 'more line')}: {problem}")
        result = present_import(totals, site, work.log_format, dry_run=options["dry_run"])
        if totals.failure:
            if options["json"]:
                self.stdout.write(render_json(result).decode())
            raise CommandError(totals.failure)
        return " ".join([describe_totals(totals, dry_run=options["dry_run"]), *totals.notes]), result

    def show(self, totals: LogTotals) -> None:
        if self.stderr.isatty() and time.monotonic() - self.shown_at >= SHOW_EVERY:
            self.shown_at = time.monotonic()
            print(f"\r{totals.lines:,} lines", end="", file=sys.stderr, flush=True)


def site_named(name: str, account: str | None) -> Site:
    """Return the site with this id, host or alias. Raises CommandError."""
    if name.startswith("site_"):
        sites = Site.objects.filter(pk=name)
    else:
        try:
            sites = Site.objects.filter(at_hosts([parse_host(name)]))
        except ValueError as error:
            raise CommandError(f"--site: {error}") from None
    if account is not None:
        sites = sites.filter(account_id=account)
    matches = list(sites[:2])
    if not matches:
        raise CommandError(f"There is no site {name!r}. Create it first; its mode does not matter.")
    if len(matches) > 1:
        raise CommandError(f"Several accounts have a site for {name}. Add --account ID.")
    return matches[0]


def describe_totals(totals: LogTotals, *, dry_run: bool) -> str:
    verb = "Would import" if dry_run else "Imported"
    prices = ", ".join(
        f"{amount.normalize():f} {currency}" for currency, amount in sorted(totals.prices_by_currency.items())
    )
    skipped = describe_skipped(totals.skipped_by_reason)
    crawlers = totals.verified_crawlers + totals.unverified_crawlers
    warning = " An import cannot be undone." if dry_run else ""
    return (
        f"{verb} {totals.imported:,} of {totals.lines:,} lines{f' ({skipped})' if skipped else ''}. "
        f"Understood {totals.understood_percent:g} % of the lines. "
        f"{count_text(crawlers, 'request')} came from crawlers, {totals.verified_crawlers:,} of them verified. "
        f"{totals.refused:,} requests would have been refused{f', worth {prices}' if prices else ''}.{warning}"
    )
