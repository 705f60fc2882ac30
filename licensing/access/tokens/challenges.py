"""Errors for refused licence tokens, with the WWW-Authenticate header of RSL 1.0, section 6."""

from datetime import datetime

from kit.http.errors import InsufficientScope, InvalidToken
from licensing.access.check_values import PresentedToken
from licensing.access.subjects import RequesterSnapshot


def challenge(message: str, error: str) -> dict[str, str]:
    return {"WWW-Authenticate": f'License error="{error}", error_description="{message}"'}


def invalid_token_error(message: str, error: str = "invalid_token") -> InvalidToken:
    """Build the error for a token that does not verify or has ended."""
    return InvalidToken(message, headers=challenge(message, error))


def out_of_scope() -> InsufficientScope:
    """Build the error for a token that covers other pages."""
    message = "The licence token is not for this resource."
    return InsufficientScope(message, headers=challenge(message, "insufficient_scope"))


def refusal_of_token(token: PresentedToken, requester: RequesterSnapshot, now: datetime) -> InvalidToken | None:
    """Refuse a verified token whose licence or client has ended. Returns None for a valid one."""
    held = requester.licenses
    if held is None or not held.holds(token.license_id, now):
        return invalid_token_error("The licence of this token is not valid any more.")
    return (
        invalid_token_error("The client of this token is revoked.") if token.client_id in held.ended_clients else None
    )
