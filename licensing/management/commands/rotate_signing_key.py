from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser

from kit.commands import ServiceCommand
from kit.http.errors import ValidationFailed
from licensing.access.signing import KEPT_SECONDS, public_jwk, rotate

MOST_SECONDS = 30 * 86_400


class Command(ServiceCommand):
    help = "Signs decisions with a new key from now on. Tokens of the old one verify until the overlap ends."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--overlap-seconds",
            type=int,
            default=86_400,
            help="For how long the old key stays in the published set; 0 if it has become known. Default: a day.",
        )

    def perform(self, **options: Any) -> tuple[str, dict[str, Any]]:
        seconds = options["overlap_seconds"]
        if not 0 <= seconds <= MOST_SECONDS:
            raise ValidationFailed(f"Must be from 0 to {MOST_SECONDS:,}.", param="overlap-seconds")
        key = rotate(timedelta(seconds=seconds))
        sentence = (
            f"Decisions are signed by {key.pk} from now on, in every process within {KEPT_SECONDS} seconds. "
            f"The key before verifies for {seconds:,} more seconds."
        )
        return sentence, public_jwk(key)
