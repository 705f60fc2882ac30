"""Authentication: from the Authorization header to the key's grant."""

import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from ipaddress import ip_network
from secrets import token_bytes
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone
from msgspec import Struct
from msgspec.structs import replace
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from accounts.keys import keytext
from accounts.keys.bounds import rate_limit_window
from accounts.keys.grant_sql import ACCOUNT_COLUMNS, FIND_ON_POSTGRESQL, FIND_ON_SQLITE, KEY_COLUMNS
from accounts.keys.models import ALL, ApiKey, KeyType
from accounts.plans.models import Account, UnlistedSigners, VisitorAddresses
from kit.http.errors import HostNotAllowed, InsufficientPermissions, InvalidApiKey, IpNotAllowed, MissingApiKey
from kit.storage.by_database import by_database
from kit.storage.light_tasks import run_blocking
from kit.storage.loading import prepared_cursor
from kit.values import ids
from kit.values.networks import Address, Network

CACHE_SECRET = token_bytes(32)
CHALLENGE = {"WWW-Authenticate": 'Bearer realm="api"'}
Networks = tuple[Network, ...]
Grants = Mapping[bytes, "Grant"]  # by digest


class Grant(Struct, frozen=True):
    """An authenticated key: its account, permissions and limits."""

    key_id: str
    key_name: str  # with the prefix, for display
    account_id: str
    account_key: str  # the account's UUID in hex
    epoch: int  # the account's epoch when the key was read
    permissions: frozenset[str]
    networks: Networks
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    limits: tuple[int, int]  # requests per minute and per day, shared by all secret keys of the account
    is_suspended: bool = False  # whether the account is suspended
    edge_limits: tuple[int, int] = (1, 1)  # edge requests that the plan includes per minute and per day
    hosts: frozenset[str] = frozenset()  # hosts that the key may ask about at the edge; empty means any
    unlisted_signers_pay: bool = False  # whether the account lets unlisted signers pay at the edge
    stores_full_addresses: bool = False  # of people at the edge; otherwise they are truncated
    is_public: bool = False
    own_limit: tuple[int, int] | None = None  # requests per so many seconds with this key
    new_digest: bytes | None = None  # to be stored when the key is used, because a former pepper made the stored one

    @property
    def weight(self) -> int:
        """Return the approximate size in memory, in kibibytes."""
        return 1 + len(self.networks) // 2 + len(self.hosts) // 4

    @property
    def depends_on(self) -> tuple[str, ...]:
        """Return the names in accounts.plans.epochs whose change invalidates this grant."""
        return (self.key_id,)

    @classmethod
    def from_key(cls, key: ApiKey) -> "Grant":
        return cls(
            key_id=key.pk,
            key_name=str(key),
            account_id=key.account_id,
            account_key=ids.id_to_hex("acc", key.account_id),
            epoch=key.account.epoch,
            permissions=frozenset(key.permissions),
            networks=tuple(ip_network(text) for text in key.allowed_ips),
            expires_at=key.expires_at,
            revoked_at=key.revoked_at,
            last_used_at=key.last_used_at,
            limits=key.account.limits,
            is_suspended=key.account.suspended_at is not None,
            edge_limits=key.account.edge_limits,
            hosts=frozenset(key.allowed_hosts),
            unlisted_signers_pay=key.account.unlisted_signers == UnlistedSigners.PAY,
            stores_full_addresses=key.account.visitor_addresses == VisitorAddresses.FULL,
            is_public=key.type == KeyType.PUBLIC,
            own_limit=rate_limit_window(key.rate_limit),
        )

    def check(self, now: datetime | None = None) -> None:
        """Raise InvalidApiKey if the key was revoked or has expired, or its account is suspended.

        `now` defaults to the current time.
        """
        if self.revoked_at is not None:  # regardless of the time, because the revoking process's clock may be ahead
            raise InvalidApiKey("This API key has been revoked.", headers=CHALLENGE)
        if self.expires_at is not None and self.expires_at <= (now or timezone.now()):
            raise InvalidApiKey("This API key has expired.", headers=CHALLENGE)
        if self.is_suspended:
            raise InvalidApiKey("The account of this API key is suspended.", headers=CHALLENGE)

    def check_address(self, address: Address | None) -> None:
        """Raise IpNotAllowed if the key's allowlist excludes the address."""
        if self.networks and (address is None or not any(address in network for network in self.networks)):
            raise IpNotAllowed(f"The address {address or 'of this request'} is not in this key's allowlist.")

    def allows(self, permission: str) -> bool:
        return permission in self.permissions or ALL in self.permissions

    def require(self, permission: str) -> None:
        """Raise InsufficientPermissions, naming the permission, if the key lacks it."""
        if not self.allows(permission):
            raise InsufficientPermissions(f"This key lacks the permission {permission}.")

    def check_host(self, host: str) -> None:
        """Raise HostNotAllowed if the key's list excludes the host, which is in normal form."""
        if self.hosts and host not in self.hosts:
            raise HostNotAllowed(f"The host {host} is not in this key's `allowedHosts`.")


def get_grant(request: Request) -> Grant:
    grant: Any = request.auth  # DRF's stubs expect their own token type
    return grant


def bearer_token(header: str) -> str:
    """Return the bearer token. Raises MissingApiKey if the header has none."""
    scheme, _, token = header.strip().partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        raise MissingApiKey("Send your API key as Authorization: Bearer <API_KEY>.", headers=CHALLENGE)
    return token


def name_in_cache(header: str) -> bytes:
    """Return the cache key of an Authorization header's API key. Raises MissingApiKey.

    It is as unique as the key's digest within this process, at a third of its cost. Unlike OpenSSL's HMAC, blake2b
    keeps the interpreter lock, so other threads do not interrupt the request.
    """
    return blake2b(bearer_token(header).encode(), key=CACHE_SECRET, digest_size=32).digest()


def license_token(authorization: str) -> str | None:
    """Return the licence token of an Authorization header, or None for another scheme."""
    return authorization[8:].strip() if authorization[:8].lower() == "license " else None


def key_header(authorization: str, licensing_key: str) -> str:
    """Return the header with the API key; beside a licence token, the key is in X-Licensing-Key."""
    if license_token(authorization) is None:
        return authorization
    return f"Bearer {licensing_key.strip()}"


def check_well_formed(text: str) -> None:
    """Raise InvalidApiKey for malformed text, which then never reaches the database."""
    if not keytext.is_well_formed(text):
        raise InvalidApiKey(keytext.MALFORMED_MESSAGE, headers=CHALLENGE)


async def find_grants(
    texts: Sequence[str], read: Callable[[Collection[bytes]], Awaitable[Grants]]
) -> list[Grant | InvalidApiKey]:
    """Return the grants of well-formed key texts; InvalidApiKey for unknown ones. `read` finds them by digests."""
    # The digest is keyed, so an index lookup reveals nothing about other keys.
    digests = [keytext.digest(text) for text in texts]
    grants = dict(await read(set(digests)))
    digests_by_former: dict[bytes, bytes] = {}  # digests by their former ones
    for text, digest in zip(texts, digests, strict=True):
        if digest not in grants:
            digests_by_former |= dict.fromkeys(keytext.former_digests(text), digest)
    if digests_by_former:  # the pepper has changed
        for former_digest, grant in (await read(digests_by_former.keys())).items():
            grants[digests_by_former[former_digest]] = replace(grant, new_digest=digests_by_former[former_digest])
    return [grants.get(digest) or unknown_key() for digest in digests]


async def read_by_digests(digests: Collection[bytes]) -> Grants:
    """Read grants on the thread's connection. Never suspends."""
    return read_grants("digest", *digests)


def read_grants(column: str, *values: object) -> Grants:
    """Return the grants of the keys with one of these values."""
    statement = by_database(postgresql=FIND_ON_POSTGRESQL, sqlite=FIND_ON_SQLITE)
    with prepared_cursor() as cursor:
        cursor.execute(f"{statement}{column} IN ({', '.join(['%s'] * len(values))})", values)
        return build_grants(cursor.fetchall())


def build_grants(rows: Iterable[Sequence[str]]) -> Grants:
    """Build grants from the rows of `FIND`."""
    return {bytes.fromhex(digest): replace(build_grant(columns), epoch=int(epoch)) for digest, epoch, columns in rows}


def find_grant(text: str) -> Grant:
    """Return the grant of a key's text. Raises InvalidApiKey."""
    check_well_formed(text)
    [grant] = run_blocking(find_grants([text], read_by_digests))
    if isinstance(grant, InvalidApiKey):
        raise grant
    return grant


def reload_grant(grant: Grant) -> Grant:
    """Return the key's current grant. Raises InvalidApiKey if the key was deleted."""
    for current in read_grants("id", ApiKey._meta.pk.get_db_prep_value(grant.key_id, connection)).values():
        return current
    raise unknown_key()


def unknown_key() -> InvalidApiKey:
    return InvalidApiKey("This API key is not valid.", headers=CHALLENGE)


@lru_cache(maxsize=1_000)
def build_grant(columns: str) -> Grant:
    """Build the grant from the JSON array of `FIND`, without the epoch: each write of the account advances it."""
    values = json.loads(columns)
    account = read_columns("acc", ACCOUNT_COLUMNS, values[len(KEY_COLUMNS) :])
    key = read_columns("key", KEY_COLUMNS, values[: len(KEY_COLUMNS)])
    return Grant.from_key(ApiKey(account=Account(**account), **key))


def read_columns(prefix: str, names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    """Return the values of a row's columns by name: its id as a text, and moments."""
    columns = dict(zip(names, values, strict=True))
    columns["id"] = ids.encode(prefix, UUID(columns["id"]).bytes)
    for name in names:
        if name.endswith("_at"):
            columns[name] = parse_moment(columns[name])
    return columns


def parse_moment(text: str | None) -> datetime | None:
    """Parse a database timestamp; SQLite stores UTC without an offset."""
    if text is None:
        return None
    parsed = datetime.fromisoformat(text)
    if parsed.tzinfo is None:
        return parsed.replace(tzinfo=UTC)
    return parsed.astimezone(UTC)


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer <API_KEY>`; sets `request.auth` to the key's Grant."""

    def authenticate(self, request: Request) -> tuple[None, Grant]:
        grant: Grant | None = request.META.get("asgi.scope", {}).get("grant")  # of the event loop
        if grant is None:
            authorization = request.META.get("HTTP_AUTHORIZATION", "")
            grant = find_grant(bearer_token(key_header(authorization, request.META.get("HTTP_X_LICENSING_KEY", ""))))
            grant.check()
        return None, grant

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE["WWW-Authenticate"]
