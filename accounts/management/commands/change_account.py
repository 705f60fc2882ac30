from django.core.exceptions import ValidationError
from django.core.management.base import CommandParser

from accounts.plans import services
from accounts.plans.models import Account, UnlistedSigners
from accounts.plans.serializers import AccountSerializer
from kit.commands import ServiceCommand
from kit.rest.resources import find


class Command(ServiceCommand):
    help = "Changes an account, effective with the next request."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("id", help="The account (acc_…).")
        parser.add_argument(
            "--unlisted-signers",
            choices=UnlistedSigners.values,
            help="Whether signers that the table of crawlers does not list can pay at the edge.",
        )

    def perform(self, *, id: str, unlisted_signers: str | None, **_: object) -> tuple[str, dict[str, object]]:
        given = {"unlisted_signers": unlisted_signers}
        changes = {name: value for name, value in given.items() if value is not None}
        if not changes:
            raise ValidationError("Nothing to change. Add an option, such as --unlisted-signers.")
        account = services.update_account(find(Account.objects.all(), id), changes)
        return f"Changed the account {account.pk}.", AccountSerializer(account).data
