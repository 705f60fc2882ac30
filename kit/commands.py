"""Base class of this project's commands: they print one sentence or, with --json, one JSON object."""

import getpass
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError
from rest_framework.exceptions import ValidationError as FieldErrors

from kit.actors import Actor, acting_as
from kit.http.errors import ApiError
from kit.http.field_errors import first_error
from kit.http.rendering import render_json
from kit.storage.outage_causes import FAILED, SCHEMA_DIFFERS, describe_outage, outage_cause


def sentences(error: ValidationError) -> list[str]:
    """Return the messages of a validation error, each prefixed with its field if it has one."""
    if not hasattr(error, "error_dict"):
        return error.messages
    return [
        text if name == NON_FIELD_ERRORS else f"{name}: {text}"
        for name, texts in error.message_dict.items()
        for text in texts
    ]


class ServiceCommand(BaseCommand, ABC):
    """Base command. Subclasses define `perform`, which returns a sentence and an object in the API's shape."""

    options: frozenset[str] = frozenset()  # the command's option strings, such as --allowed-ip

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print one JSON object as the last line.")

    def handle(self, *args: object, **options: object) -> None:
        try:
            with acting_as(self.actor()):
                sentence, result = self.perform(**options)
        except ApiError as error:
            raise CommandError(self.describe(error.param, error.message)) from None
        except ValidationError as error:
            raise CommandError("; ".join(sentences(error))) from None
        except FieldErrors as error:
            param, message = first_error(error.detail)
            raise CommandError(self.describe(param, message)) from None
        except DatabaseError as error:
            cause = outage_cause(error)
            if cause == FAILED:
                raise
            if cause == SCHEMA_DIFFERS:
                raise CommandError(
                    "The database lacks tables of this version. Run the command with the service's DATA_DIR and "
                    "DATABASE_URL, or run `manage.py migrate` first."
                ) from None
            raise CommandError(describe_outage(error)) from None
        self.stdout.write(render_json(result).decode() if options["json"] else sentence)

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: object) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        self.options = frozenset(option for action in parser._actions for option in action.option_strings)
        return parser

    def describe(self, param: str | None, message: str) -> str:
        """Prefix the message with the command-line option that corresponds to the API parameter `param`, if there is
        one.
        """
        if not param:
            return message
        name = re.split(r"[.\[]", param, maxsplit=1)[0]
        option = "--" + re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: f"-{match[1].lower()}", name)
        option_name = next(
            (candidate for candidate in (option, option.removesuffix("s")) if candidate in self.options), None
        )
        return f"{option_name} ({param}): {message}" if option_name else f"{param}: {message}"

    def actor(self) -> Actor:
        """Return an actor with the command's name and the operating system's user name."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):  # a container's user may have no name
            user = None
        return Actor("command", type(self).__module__.rpartition(".")[2], user)

    @abstractmethod
    def perform(self, *args: Any, **options: Any) -> tuple[str, Mapping[str, object]]:
        """Run the command. Declare the options it uses, and `**_: object` for those every command has."""
