from django.core.management.base import CommandError, CommandParser

from analytics.statements.checking import differences
from analytics.statements.closing import close_due
from kit.commands import ServiceCommand
from kit.storage.clocks import watch


class Command(ServiceCommand):
    help = (
        "Closes the months of statements that have been over for an hour, which the service does every ten minutes by "
        "itself. With --check nothing is closed: statements are compared with the ledger."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--check", action="store_true", help="Only tell where statements and ledger differ.")

    def perform(self, *, check: bool, **_: object) -> tuple[str, dict[str, object]]:
        if not check:
            closed = close_due()
            if (fault := watch.fault()) is not None:
                raise CommandError(
                    f"This machine's clock is {fault}. Synchronise it, and run it again. Closed nothing."
                )
            return f"Closed {closed:,} months.", {"closed": closed}
        found = differences()
        told = "\n".join(
            f"{one['accountId']} {one['currency']}: {one['statements']} is {one['ledger']} in the ledger"
            for one in found
        )
        return told or "Statements and the ledger agree.", {"differences": found}
