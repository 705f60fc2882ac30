from django.core.management.base import CommandParser

from accounts.models import Account
from kit.commands import ServiceCommand
from kit.http.errors import ValidationFailed
from kit.rest.resources import find
from licensing.account_deletion import delete_account


class Command(ServiceCommand):
    help = "Deletes an account without a ledger, with all that is its own but its entries in the audit log."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("id")
        parser.add_argument("--name", required=True, help="The account's name, lest another one is deleted by a slip.")

    def perform(self, *, id: str, name: str, **_: object) -> tuple[str, dict[str, object]]:
        account = find(Account.objects.all(), id)
        if name != account.name:
            raise ValidationFailed(f"The name of {account.pk} is another one.", param="name")
        deleted = delete_account(account)
        return f"Deleted {account.pk} ({account.name}) and {deleted:,} rows of it.", {
            "id": account.pk,
            "object": "account",
            "deleted": True,
        }
