"""The base of this project's commands: they print a sentence for people, or with --json one object for programs."""

import getpass
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from rest_framework.exceptions import ValidationError as FieldErrors

from kit.actors import Actor, acting_as
from kit.http.errors import ApiError
from kit.http.field_errors import first_error
from kit.http.rendering import render_json


def sentences(error: ValidationError) -> list[str]:
    """The messages of an error, each with its field if it has one."""
    if not hasattr(error, "error_dict"):
        return error.messages
    return [
        text if name == NON_FIELD_ERRORS else f"{name}: {text}"
        for name, texts in error.message_dict.items()
        for text in texts
    ]


class ServiceCommand(BaseCommand, ABC):
    """Subclasses define `perform`, which returns the result as a sentence and as an object in the API's shape."""

    options: frozenset[str] = frozenset()  # that the command takes, such as --allowed-ip

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print one JSON object as the last line.")

    def handle(self, *args: object, **options: object) -> None:
        try:
            with acting_as(self.actor()):
                sentence, result = self.perform(**options)
        except ApiError as error:
            raise CommandError(self.told(error.param, error.message)) from None
        except ValidationError as error:
            raise CommandError("; ".join(sentences(error))) from None
        except FieldErrors as error:
            param, message = first_error(error.detail)
            raise CommandError(self.told(param, message)) from None
        self.stdout.write(render_json(result).decode() if options["json"] else sentence)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: object) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        self.options = frozenset(option for action in parser._actions for option in action.option_strings)
        return parser

    def told(self, param: str | None, message: str) -> str:
        """The message with the option that it is about, if there is one for that parameter of the API."""
        if not param:
            return message
        name = re.split(r"[.\[]", param, maxsplit=1)[0]
        option = "--" + re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: f"-{found[1].lower()}", name)
        known = next((one for one in (option, option.removesuffix("s")) if one in self.options), None)
        return f"{known} ({param}): {message}" if known else f"{param}: {message}"

    def actor(self) -> Actor:
        """The command, by the name of the user of the machine who runs it."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):  # a container's user without a name
            user = None
        return Actor("command", type(self).__module__.rpartition(".")[2], user)

    @abstractmethod
    def perform(self, *args: Any, **options: Any) -> tuple[str, Mapping[str, object]]:
        """Each command names the options that it uses, and ends with `**_: object` for those of every command."""
