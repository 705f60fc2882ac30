from typing import Any

from django.core.management.base import CommandError, CommandParser

from accounts.models import Account
from kit.commands import ServiceCommand
from operators.staff import roles
from operators.staff.services import create_operator

ROLES = {"viewer": roles.VIEWER, "editor": roles.EDITOR, "key-manager": roles.KEY_MANAGER}


class Command(ServiceCommand):
    help = "Creates an operator, who signs in to the admin, and prints the password, this once."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("username")
        parser.add_argument("--superuser", action="store_true", help="May do everything, also manage operators.")
        parser.add_argument("--role", choices=ROLES, help="What they may do, as the admin's guide says.")
        parser.add_argument("--all-accounts", action="store_true", help="Sees all accounts.")
        parser.add_argument("--account", action="append", default=[], metavar="ID", help="Sees this one; repeatable.")

    def perform(self, **options: Any) -> tuple[str, dict[str, Any]]:
        if bool(options["superuser"]) == bool(options["role"]):
            raise CommandError("Give either --role or --superuser.")
        accounts = [find_account(text) for text in options["account"]]
        operator, password = create_operator(
            options["username"],
            superuser=options["superuser"],
            role=ROLES[options["role"]] if options["role"] else None,
            all_accounts=options["all_accounts"],
            accounts=accounts,
        )
        sentence = f"Created the operator {operator.username}. The password, shown this once: {password}"
        return sentence, {"object": "operator", "username": operator.username, "password": password}


def find_account(text: str) -> Account:
    try:
        return Account.objects.get(pk=text)
    except (Account.DoesNotExist, ValueError):
        raise CommandError(f"There is no account {text!r}.") from None
