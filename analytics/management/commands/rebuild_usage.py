import sys
from collections import Counter
from dataclasses import asdict

from django.core.management.base import CommandError, CommandParser

from accounts.models import Account
from analytics.rollups.rebuild import Step, rebuild
from kit.commands import ServiceCommand
from kit.rest.resources import find
from kit.values.numbers import count_text
from kit.values.timestamps import parse_timestamp


class Command(ServiceCommand):
    help = (
        "Recomputes the usage figures from the recorded decisions, and the daily revenue from the ledger, "
        "beside a running service. Interrupted, it can be run again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--check", action="store_true", help="Change nothing; exit with 1 if anything differs.")
        parser.add_argument("--account", metavar="ID", help="This account alone.")
        parser.add_argument("--since", metavar="YYYY-MM", help="Begin with this month.")

    def handle(self, *args: object, **options: object) -> None:
        self.differ = False
        super().handle(*args, **options)
        if options["check"] and self.differ:
            sys.exit(1)

    def perform(
        self,
        *,
        account: str | None,
        since: str | None,
        check: bool,
        **_: object,
    ) -> tuple[str, dict[str, object]]:
        everybody = Account.objects.order_by("pk")
        if account:
            accounts = [find(everybody, account).pk]
        else:
            accounts = [row.pk for row in everybody]
        try:
            first = parse_timestamp(f"{since}-01") if since else None
        except ValueError:
            raise CommandError("--since takes a month such as 2026-01.") from None
        self.reached = ""
        self.verb = "differ" if check else "corrected"
        self.found_here: list[str] = []
        try:
            steps = rebuild(accounts, since=first, apply=not check, show=self.show)
        except KeyboardInterrupt:
            raise CommandError(
                f"Interrupted in {self.reached}. What is done stays; run it again for the rest.", returncode=130
            ) from None
        self.report_progress()
        self.differ = bool(steps)
        rows = Counter[str]()
        for step in steps:
            rows[step.rollup] += step.rows
        total = sum(rows.values())
        if not total:
            sentence = "Everything agrees with the decisions and the ledger."
        else:
            verb = ("differs" if total == 1 else "differ") if check else "corrected"
            sentence = f"{count_text(total, 'row')} {verb}: " + ", ".join(
                f"{count:,} of {name}" for name, count in sorted(rows.items())
            )
        return sentence, {
            "object": "usage_rebuild",
            "check": check,
            "rows": total,
            "differences": [asdict(step) for step in steps],
        }

    def show(self, step: Step) -> None:
        if (position := f"{step.period} of {step.account}") != self.reached:
            self.report_progress()
            self.reached = position
            self.found_here = []
        if step.rows:
            self.found_here.append(f"{count_text(step.rows, 'row')} of {step.rollup}")

    def report_progress(self) -> None:
        """Print the result of the account's finished month."""
        if self.reached:
            text = f"{', '.join(self.found_here)} {self.verb}" if self.found_here else "agrees"
            self.stderr.write(f"{self.reached}: {text}")
