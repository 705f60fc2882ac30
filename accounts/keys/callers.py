"""Callers: the keys that this process knows, their uses, and the admission of a request by its key."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from django.db.models import Case, F, Q, Value, When
from msgspec import Struct

from accounts.keys import states
from accounts.keys.authentication import Grant, name_in_cache, reload_grant
from accounts.keys.models import ApiKey
from kit.http.errors import ApiError, ClientGone, IpNotAllowed, MissingApiKey
from kit.storage.light_tasks import run_blocking
from kit.values.networks import Address

MAX_WEIGHT = 200_000  # of the known grants, in KiB approximately
# How often a key's use, and the refusal of a proxy with it, are noted.
USE_PRECISION = timedelta(minutes=1)
MAX_REMEMBERED = 10_000
MAX_REFUSAL = 255  # characters; a message may name a host
last_written: dict[
    tuple[str, bool], datetime
] = {}  # when this process last wrote a key's use (False) or refusal (True)


class KnownGrants:
    """The grants of keys that this process has read, by `name_in_cache`.

    A key never changes its account; the rest may be outdated. Checks use a grant while the epoch of its account says
    that it holds (licensing.access.event_loop.snapshot). Other code finds callers whose request may not cost anything
    yet.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.by_name: dict[bytes, Grant] = {}  # the oldest first
        self.weight = 0

    def put(self, name: bytes, grant: Grant) -> None:
        with self.lock:
            self.remove(name)
            self.by_name[name] = grant
            self.weight += grant.weight
            while self.weight > MAX_WEIGHT:
                self.remove(next(iter(self.by_name)))

    def confirm(self, name: bytes, grant: Grant) -> None:
        """Replace a grant with its copy at a newer epoch. Do nothing if another thread has removed the grant."""
        with self.lock:
            if name in self.by_name:
                self.by_name[name] = grant

    def drop(self, name: bytes) -> None:
        """Forget a key that has ended."""
        with self.lock:
            self.remove(name)

    def remove(self, name: bytes) -> None:
        grant = self.by_name.pop(name, None)
        if grant is not None:
            self.weight -= grant.weight

    def clear(self) -> None:
        with self.lock:
            self.by_name.clear()
            self.weight = 0

    def find(self, header: str, address: Address | None) -> Grant | None:
        """Return the grant of an Authorization header, or None if the key is unknown, or refused from this address."""
        try:
            grant = self.by_name[name_in_cache(header)]
            grant.check()
            grant.check_address(address)
        except (KeyError, ApiError):
            return None
        return grant


known_grants = KnownGrants()


class Use(Struct, frozen=True):
    """A request with a key. `refusal` says why a proxy was refused; it is empty for other requests."""

    grant: Grant
    refusal: str = ""


def is_use_due(use: Use, now: datetime) -> bool:
    """Whether the last written use is over a minute old, as far as this process knows, or a digest must be stored."""
    last_use = last_written.get((use.grant.key_id, use.refusal != ""))
    if last_use is None and not use.refusal and use.grant.new_digest is None:
        last_use = use.grant.last_used_at
    return last_use is None or now - last_use >= USE_PRECISION


def write_use(use: Use, now: datetime) -> None:
    """Write the use or the refusal, unless one was written less than a minute ago."""
    if len(last_written) >= MAX_REMEMBERED:
        last_written.clear()  # safe, because the conditions below enforce the minute too
    last_written[use.grant.key_id, use.refusal != ""] = now
    key = ApiKey.objects.filter(pk=use.grant.key_id)
    if use.refusal:
        since = Case(When(states.is_refused(now), then=F("refused_since")), default=Value(now))
        stale = Q(refused_at=None) | Q(refused_at__lte=now - USE_PRECISION)
        key.filter(stale).update(refused_since=since, refused_at=now, refusal=use.refusal[:MAX_REFUSAL])
        return
    key.filter(Q(last_used_at=None) | Q(last_used_at__lte=now - USE_PRECISION)).update(last_used_at=now)
    if use.grant.new_digest is not None:
        key.update(digest=use.grant.new_digest)


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


class Steps:
    """The admission steps of one request path. A step rejects the request by raising an ApiError.

    Steps that a subclass does not override accept everything.
    """

    async def authenticate(self) -> None:
        """Read and verify the API key. Raises MissingApiKey or InvalidApiKey."""

    def check_address(self) -> None:
        """Raise IpNotAllowed if the key's allowlist excludes the client's address."""

    async def count(self) -> None:
        """Count the request against the key's rate limits. Raises RateLimitExceeded."""

    async def count_stranger(self, refusal: MissingApiKey | IpNotAllowed) -> None:
        """Count a request without a valid key against its client's address. Raises RateLimitExceeded."""

    def authorize(self) -> None:
        """Raise InsufficientPermissions if the key lacks a required permission."""

    def check_query(self) -> None:
        """Raise InvalidRequest for unknown, repeated or unreadable query parameters."""

    async def read_body(self) -> None:
        """Read the body if the method has one, without parsing it. Raises an ApiError."""


async def admit(request: Steps) -> None:
    """Run the steps in order until one rejects the request (docs/reference/errors.md, Which error comes first).

    Views of Django have the same order in `ApiViewSet.initial`. tests/gateway/test_order.py proves it for both.
    """
    try:
        await request.authenticate()
        request.check_address()
    except (MissingApiKey, IpNotAllowed) as refusal:
        await request.count_stranger(refusal)
        raise
    await request.count()
    request.authorize()
    request.check_query()
    await request.read_body()


class GrantSteps(Steps):
    """The admission steps that need only a key's grant, for operations with one permission."""

    grant: Grant  # set by `authenticate`
    address: Address | None
    permission: str

    def check_address(self) -> None:
        if self.grant.networks:
            self.grant.check_address(self.address)

    def authorize(self) -> None:
        self.grant.require(self.permission)


class Readmission(GrantSteps):
    """Repeats the admission of a request with the current state of its key, without counting it."""

    def __init__(self, caller: Caller, now: datetime) -> None:
        self.caller = caller
        self.now = now
        self.address = caller.address
        self.permission = caller.permission

    async def authenticate(self) -> None:
        self.grant = reload_grant(self.caller.grant)
        self.grant.check(self.now)
