from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from kit.commands import ServiceCommand
from operators.login import second_factor


class Command(ServiceCommand):
    help = "Lets an operator who lost the authenticator and the recovery codes sign in with the password alone."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("username")

    def perform(self, **options: Any) -> tuple[str, dict[str, Any]]:
        operator = User.objects.filter(username=options["username"]).first()
        if operator is None:
            raise CommandError(f"There is no operator {options['username']!r}.")
        second_factor.reset(operator)
        return f"{operator.username} signs in with the password alone now.", {
            "object": "operator",
            "username": operator.username,
        }
