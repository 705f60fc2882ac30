import sys

from msgspec import to_builtins

from analytics.statements.checking import find_differences
from kit.commands import ServiceCommand


class Command(ServiceCommand):
    help = (
        "Compares balances, statements, refunds, fees and revenue with the entries that they add up, beside a running "
        "service. Changes nothing; exits with 1 if anything differs."
    )

    def handle(self, *args: object, **options: object) -> None:
        self.differ = False
        super().handle(*args, **options)
        if self.differ:
            sys.exit(1)

    def perform(self, **_: object) -> tuple[str, dict[str, object]]:
        differences = find_differences()
        self.differ = bool(differences)
        lines = [
            f"{difference.check} of {difference.account_id}, {difference.subject or 'without a subject'}: "
            f"{difference.missing} {difference.unit} missing"
            for difference in differences
        ]
        sentence = "\n".join(lines) or "The books agree with their entries."
        return sentence, {"object": "books_check", "differences": to_builtins(differences)}
