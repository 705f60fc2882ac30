"""Refusals of licence tokens, with the header that tells their client what is wrong (RSL 1.0, section 6)."""

from kit.http.errors import InsufficientScope, InvalidToken


def challenge(message: str, error: str) -> dict[str, str]:
    return {"WWW-Authenticate": f'License error="{error}", error_description="{message}"'}


def refused(message: str, error: str = "invalid_token") -> InvalidToken:
    """A token that does not verify, or has ended."""
    return InvalidToken(message, headers=challenge(message, error))


def out_of_scope() -> InsufficientScope:
    """A token for something else."""
    message = "The licence token is not for this resource."
    return InsufficientScope(message, headers=challenge(message, "insufficient_scope"))
