from typing import Any

from django.core.management.base import CommandParser

from accounts.models import Account
from kit.commands import ServiceCommand
from kit.rest.resources import find
from licensing.demo.removal import remove_demo


class Command(ServiceCommand):
    help = "Removes a demo account with all that is its own: keys, items, decisions, licences and its ledger."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("id")

    def perform(self, **options: Any) -> tuple[str, dict[str, Any]]:
        account = find(Account.objects.all(), options["id"])
        removed = remove_demo(account)
        return f"Removed {account.pk} ({account.name}) and {removed:,} rows of it.", {
            "id": account.pk,
            "object": "account",
            "deleted": True,
        }
