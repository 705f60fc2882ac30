from typing import Any

from django.core.management.base import CommandParser

from accounts.models import Account
from kit.commands import ServiceCommand
from kit.http.errors import ValidationFailed
from kit.rest.resources import find
from licensing.account_deletion import delete_account


class Command(ServiceCommand):
    help = "Removes a demo account with all that is its own: keys, items, decisions, licences and its ledger."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("id")

    def perform(self, **options: Any) -> tuple[str, dict[str, Any]]:
        account = find(Account.objects.all(), options["id"])
        if not account.is_demo:
            raise ValidationFailed(f"{account.pk} is not a demo account.", param="id")
        removed = delete_account(account)
        return f"Removed {account.pk} ({account.name}) and {removed:,} rows of it.", {
            "id": account.pk,
            "object": "account",
            "deleted": True,
        }
