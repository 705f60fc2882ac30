import sys

from django.core.management.base import CommandParser

from analytics.rates.ecb_file import parse_rates, read_text
from analytics.rates.loading import RateImport, import_rates
from kit.commands import ServiceCommand

SHOWN = 20  # changed rates printed individually


class Command(ServiceCommand):
    help = "Loads the European Central Bank's historical euro rates (CSV, .gz or .zip), which reports convert with."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", help="eurofxref-hist.csv, or eurofxref-hist.zip as the bank offers it.")

    def perform(self, *, file: str, **_: object) -> tuple[str, dict[str, object]]:
        rates = list(parse_rates(read_text(file)))
        tally = import_rates(rates, self.show)
        if self.stderr.isatty():
            print(file=sys.stderr)
        for day, currency, before, after in tally.changed[:SHOWN]:
            self.stderr.write(f"{day}: EUR 1 = {currency} {after}, was {before}")
        if len(tally.changed) > SHOWN:
            self.stderr.write(f"… and {len(tally.changed) - SHOWN:,} further changes.")
        days = {day for _, day, _ in rates}
        currencies = {currency for currency, _, _ in rates}
        result: dict[str, object] = {
            "object": "exchange_rate_import",
            "rates": len(rates),
            "currencies": len(currencies),
            "firstDay": min(days, default=None),
            "lastDay": max(days, default=None),
            "created": tally.created,
            "updated": len(tally.changed),
            "unchanged": tally.unchanged,
        }
        return sentence(result, tally), result

    def show(self, done: int) -> None:
        if self.stderr.isatty():
            print(f"\r\x1b[K{done:,} rates written", end="", file=sys.stderr, flush=True)


def sentence(result: dict[str, object], tally: RateImport) -> str:
    return (
        f"{result['rates']:,} rates of {result['currencies']} currencies from {result['firstDay']} to "
        f"{result['lastDay']}: {tally.created:,} new, {len(tally.changed):,} changed, {tally.unchanged:,} as before."
    )
