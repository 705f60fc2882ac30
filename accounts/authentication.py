"""From the Authorization header to what its key may do."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Any

from django.db.models import Q
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication

from accounts import keytext
from accounts.models import ApiKey
from accounts.permissions import require
from kit.http.admission import Steps, admit, run_blocking
from kit.http.errors import InvalidApiKey, IpNotAllowed, MissingApiKey
from kit.http.middleware import Address
from kit.values import ids

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="api"'}
LAST_USED_PRECISION = timedelta(minutes=1)
Networks = tuple[IPv4Network | IPv6Network, ...]


@dataclass(frozen=True, slots=True)
class Grant:
    """What an authenticated request may do, and on whose account."""

    key_id: str
    key_name: str  # with the prefix, for people
    account_id: str
    account_key: str  # its UUID in hex
    epoch: int  # of the account, when this was read
    permissions: frozenset[str]
    networks: Networks
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    limits: tuple[int, int]  # requests per minute and per day, shared by all keys of the account

    @property
    def weight(self) -> int:
        """About how many kibibytes of memory it takes."""
        return 1 + len(self.networks) // 2

    @classmethod
    def of(cls, key: ApiKey) -> "Grant":
        return cls(
            key_id=key.pk,
            key_name=str(key),
            account_id=key.account_id,
            account_key=ids.hex_of("acc", key.account_id),
            epoch=key.account.epoch,
            permissions=frozenset(key.permissions),
            networks=tuple(ip_network(text) for text in key.allowed_ips),
            expires_at=key.expires_at,
            revoked_at=key.revoked_at,
            last_used_at=key.last_used_at,
            limits=key.account.limits,
        )

    def check(self, now: datetime) -> None:
        """Raises InvalidApiKey for a key that has been revoked or has expired."""
        if self.revoked_at is not None:  # whatever the clock: that of the process that revoked it may be ahead
            raise InvalidApiKey("This API key has been revoked.", headers=CHALLENGE)
        if self.expires_at is not None and self.expires_at <= now:
            raise InvalidApiKey("This API key has expired.", headers=CHALLENGE)

    def check_address(self, address: Address | None) -> None:
        """Raises IpNotAllowed for an address outside the key's list."""
        if not is_within(address, self.networks):
            raise IpNotAllowed(f"The address {address or 'of this request'} is not in this key's allowlist.")


class GrantSteps(Steps):
    """The steps that take no more than a key's grant, for what needs one permission."""

    grant: Grant  # once authenticated
    address: Address | None
    permission: str

    def check_address(self) -> None:
        self.grant.check_address(self.address)

    def authorize(self) -> None:
        require(self.grant, self.permission)


@dataclass(frozen=True, slots=True)
class Caller:
    """The use of a key from an address, for what needs a permission."""

    grant: Grant
    address: Address | None
    permission: str

    def check_at(self, epoch: int, now: datetime) -> None:
        """Admits the caller again, by the key as it is now, if the account is at another epoch than the grant.

        Call it inside the transaction, after reading `epoch`: then nothing is decided at an epoch for a key that had
        ended by then. Raises InvalidApiKey, IpNotAllowed or InsufficientPermissions.
        """
        if epoch != self.grant.epoch:
            run_blocking(admit(Readmission(self, now)))


class Readmission(GrantSteps):
    """A request that has been let in and counted, by its key as it is now."""

    def __init__(self, caller: Caller, now: datetime) -> None:
        self.caller, self.now = caller, now
        self.address, self.permission = caller.address, caller.permission

    async def authenticate(self) -> None:
        self.grant = reload_grant(self.caller.grant)
        self.grant.check(self.now)


def is_within(address: Address | None, networks: Networks) -> bool:
    """Whether an allowlist lets the address in; an empty one lets in all."""
    return not networks or (address is not None and any(address in network for network in networks))


def bearer_token(header: str) -> str:
    """Raises MissingApiKey where the header carries no bearer token."""
    scheme, _, token = header.strip().partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        raise MissingApiKey("Send your API key as Authorization: Bearer <API_KEY>.", headers=CHALLENGE)
    return token


def check_well_formed(text: str) -> None:
    """Raises InvalidApiKey for what cannot be a key, which so never reaches the database."""
    if not keytext.is_well_formed(text):
        raise InvalidApiKey("This API key is not valid.", headers=CHALLENGE)


def find_grant(text: str) -> Grant:
    """The grant of a key's text. Raises InvalidApiKey."""
    check_well_formed(text)
    # The digest is keyed, so comparing it by index tells nothing about other keys' texts.
    key = ApiKey.objects.select_related("account").filter(digest=keytext.digest(text)).first()
    if key is None:
        raise InvalidApiKey("This API key is not valid.", headers=CHALLENGE)
    return Grant.of(key)


def reload_grant(grant: Grant) -> Grant:
    """The grant of the same key as it is now. Raises InvalidApiKey if the key is no longer there."""
    key = ApiKey.objects.select_related("account").filter(pk=grant.key_id).first()
    if key is None:
        raise InvalidApiKey("This API key is not valid.", headers=CHALLENGE)
    return Grant.of(key)


noted: dict[str, datetime] = {}  # key id → when this process last wrote its use
MAX_NOTED = 10_000


def uses_to_note(grant: Grant, now: datetime) -> bool:
    """Whether a minute has passed since the use of this key was last written, by this process or seen by it."""
    last = noted.get(grant.key_id) or grant.last_used_at
    return last is None or now - last >= LAST_USED_PRECISION


def note_use(grant: Grant, now: datetime) -> None:
    """Writes `lastUsedAt`, unless it was written less than a minute ago."""
    if len(noted) >= MAX_NOTED:
        noted.clear()  # the condition below keeps to the minute by itself
    noted[grant.key_id] = now
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - LAST_USED_PRECISION)
    ApiKey.objects.filter(stale, pk=grant.key_id).update(last_used_at=now)


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer <API_KEY>`; sets `request.auth` to the key's Grant."""

    def authenticate(self, request: Any) -> tuple[None, Grant]:
        grant = find_grant(bearer_token(request.META.get("HTTP_AUTHORIZATION", "")))
        grant.check(timezone.now())
        return None, grant

    def authenticate_header(self, request: Any) -> str:
        return CHALLENGE["WWW-Authenticate"]
