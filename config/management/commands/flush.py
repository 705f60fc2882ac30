from django.core import mail
from django.core.management.commands import flush

from config.management.append_only import unlocked
from licensing.access.tokens.signing import forget_signer


class Command(flush.Command):
    """Django's command, which empties the tables after a TransactionTestCase.

    Projects that test against this service need it, because they do not have the fixtures of `tests/`. Outside a test
    runner the append-only tables refuse it, and with them the whole command.
    """

    help = "Empties the tables of a test database. Others refuse it: ledger and audit log are append-only."

    def handle(self, **options: object) -> None:
        if not hasattr(mail, "outbox"):  # Django has not set up its test environment
            super().handle(**options)
            return
        with unlocked():
            super().handle(**options)
        forget_signer()  # nobody could verify what a deleted key signs
