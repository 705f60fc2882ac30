"""Checks that cannot be signed, because the signing key cannot be decrypted. The others of a batch are decided."""

from collections.abc import Sequence

from kit.http.errors import ApiError
from licensing.access.answers import Answer
from licensing.access.check_values import Check


def decidable(checks: Sequence[Check], error: ApiError) -> Sequence[Check]:
    """Return the checks to decide; `error` says why none can be signed. Raises it if all of them are to be signed."""
    others = [check for check in checks if not check.sign]
    if not others:
        raise error
    return others


def with_unsigned(
    answers: Sequence[Answer | ApiError], checks: Sequence[Check], error: ApiError
) -> Sequence[Answer | ApiError]:
    """Return the answers to all checks: `error` for those that were not decided."""
    decided = iter(answers)
    return [error if check.sign else next(decided) for check in checks]
