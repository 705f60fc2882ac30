from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser

from analytics.statements.closing import close_due
from kit.commands import ServiceCommand
from kit.storage.clocks import watch


class Command(ServiceCommand):
    help = (
        "Closes the months of statements that have been over for an hour, which the service does every ten minutes by "
        "itself. With --check nothing is closed: it runs check_books."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--check", action="store_true", help="Run check_books instead.")

    def handle(self, *args: object, **options: object) -> None:
        if options["check"]:
            call_command("check_books", json=options["json"], stdout=self.stdout)
        else:
            super().handle(*args, **options)

    def perform(self, **_: object) -> tuple[str, dict[str, object]]:
        closed = close_due()
        if (fault := watch.fault()) is not None:
            raise CommandError(f"This machine's clock is {fault}. Synchronise it, and run it again. Closed nothing.")
        return f"Closed {closed:,} months.", {"closed": closed}
