from datetime import timedelta

from django.core.management.base import CommandParser

from kit.commands import ServiceCommand
from kit.http.errors import ValidationFailed
from licensing.access.tokens.models import Algorithm
from licensing.access.tokens.signing import KEPT_SECONDS, public_jwk, rotate_key

MAX_SECONDS = 30 * 86_400


class Command(ServiceCommand):
    help = "Signs with a new key from now on. Tokens of the old one verify until the overlap ends."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--algorithm",
            choices=Algorithm.values,
            default=Algorithm.EDDSA.value,
            help="EdDSA: the key of decisions, which is the default. ES256: that of licence tokens.",
        )
        parser.add_argument(
            "--overlap-seconds",
            type=int,
            default=86_400,
            help="For how long the old key stays in the published set; 0 if it has become known. Default: a day.",
        )

    def perform(self, *, overlap_seconds: int, algorithm: str, **_: object) -> tuple[str, dict[str, object]]:
        if not 0 <= overlap_seconds <= MAX_SECONDS:
            raise ValidationFailed(f"Must be from 0 to {MAX_SECONDS:,}.", param="overlap-seconds")
        key = rotate_key(timedelta(seconds=overlap_seconds), algorithm)
        signed = "Decisions" if algorithm == Algorithm.EDDSA else "Licence tokens"
        sentence = (
            f"{signed} are signed by {key.pk} from now on, in every process within {KEPT_SECONDS} seconds. "
            f"The key before verifies for {overlap_seconds:,} more seconds."
        )
        return sentence, public_jwk(key)
