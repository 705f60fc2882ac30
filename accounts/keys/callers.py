"""Callers of operations that verify their key again inside the transaction."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from accounts.keys.authentication import Grant, GrantSteps, reload_grant
from kit.http.admission import admit, run_blocking
from kit.http.errors import ClientGone
from kit.http.middleware import Address


@dataclass(frozen=True, slots=True)
class Caller:
    """A key used from an address, for an operation that needs a permission.

    `is_awaited` says whether the client still waits for the answer; None means that it is not known.
    """

    grant: Grant
    address: Address | None
    permission: str
    is_awaited: Callable[[], bool] | None = None

    def check_at(self, epoch: int, now: datetime) -> Grant:
        """Check the caller again with the current state of the key, if the account's epoch has changed since.

        Returns the key's grant at that epoch.

        Call it inside the transaction, after reading `epoch`, so that no decision is recorded for a key that had ended
        by then. Raises InvalidApiKey, IpNotAllowed or InsufficientPermissions.
        """
        if epoch == self.grant.epoch:
            return self.grant
        current = Readmission(self, now)
        run_blocking(admit(current))
        return current.grant

    def check_presence(self) -> None:
        """Raise ClientGone if the client has left. Call it last in the transaction, which may have waited long."""
        if self.is_awaited is not None and not self.is_awaited():
            raise ClientGone()


class Readmission(GrantSteps):
    """Repeats the admission of a request with the current state of its key, without counting it."""

    def __init__(self, caller: Caller, now: datetime) -> None:
        self.caller, self.now = caller, now
        self.address, self.permission = caller.address, caller.permission

    async def authenticate(self) -> None:
        self.grant = reload_grant(self.caller.grant)
        self.grant.check(self.now)
