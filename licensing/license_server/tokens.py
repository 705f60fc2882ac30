"""Issues and introspects licence tokens."""

from datetime import datetime
from itertools import chain
from typing import Any

from django.conf import settings
from msgspec.structs import asdict
from uuid_utils import uuid7

from kit.http.errors import InvalidToken
from licensing.access.charging.credits import covers_an_access
from licensing.access.subjects import Item
from licensing.access.tokens.license_tokens import Claims, verify_now
from licensing.access.tokens.models import Algorithm
from licensing.access.tokens.signing import current_signer
from licensing.clients.models import LicenseClient
from licensing.crawler_classes import NAMES_IN_RSL, USES
from licensing.license_server.resources import Resource
from licensing.licenses.compiled import find_licenses
from licensing.licenses.license_index import LicenseIndex
from licensing.policies.decision import judge
from licensing.policies.effective_licenses import build_facts, build_standing
from licensing.policies.facts import HeldLicense


class Unlicensed(Exception):
    """The client's requester has no valid licence for the resource."""


class Unpaid(Exception):
    """The wallets of the client's requester do not cover an access by its licence."""


def issue(client: LicenseClient, resource: Resource, issuer: str, now: datetime) -> tuple[str, int]:
    """Return a token for the resource and its lifetime in seconds.

    Raises Unlicensed, Unpaid and ServiceUnavailable.
    """
    held_license = license_for(find_licenses([client.requester_id])[client.requester_id], resource, now)
    if not covers_an_access(held_license, client.requester.wallets or (), now):
        raise Unpaid
    seconds = settings.LICENSE_TOKEN_SECONDS
    if held_license.expires_at is not None:
        seconds = max(1, min(seconds, int((held_license.expires_at - now).total_seconds())))
    issued = int(now.timestamp())
    claims = Claims(
        iss=issuer,
        sub=client.requester.requester_id,
        aud=resource.audience,
        iat=issued,
        nbf=issued,
        exp=issued + seconds,
        jti=uuid7().hex,
        license_id=held_license.id or "",
        client_id=client.pk,
        account_id=client.account_id,
        scope=token_scope(held_license, client.requester.requester_id, resource, now),
    )
    return current_signer(Algorithm.ES256).sign({**asdict(claims), "aud": list(claims.aud)}), seconds


def license_for(index: LicenseIndex, resource: Resource, now: datetime) -> HeldLicense:
    """Return the first valid licence that covers the resource or, for a pattern, part of it. Raises Unlicensed."""
    covering = chain.from_iterable(index.covering(item.id, item.tags, item.policy_key) for item in resource.items)
    partial_terms = [term for term in index.terms if term.content_ids or term.tags or term.policies]
    for term in [*covering, *(partial_terms if resource.is_pattern else ())]:
        if term.is_valid(now):
            return term.license
    raise Unlicensed


def token_scope(held_license: HeldLicense, requester_id: str, resource: Resource, now: datetime) -> str:
    """Return the uses, by their names in RSL, that the licence allows under all current policies of the resource."""
    standing = build_standing([held_license], has_lapsed=False)

    def is_opened(item: Item, use: str) -> bool:
        facts = build_facts(standing, now, requester_id, use, item.fact_values)
        return judge(item.policy, facts).allowed

    return " ".join(NAMES_IN_RSL[use] for use in USES if all(is_opened(item, use) for item in resource.items))


def introspect_token(token: str, account_id: str, client: LicenseClient | None, url: str | None, now: datetime) -> Any:
    """Return the introspection reply (RFC 7662) for a token.

    Clients can introspect only their own tokens; publishers (`client` is None) those for their pages.
    """
    try:
        claims = verify_now(token, account_id, now)
    except InvalidToken:
        return {"active": False}
    is_own = client is None or client.pk == claims.client_id
    if not is_own or (url is not None and not claims.is_for(url)) or not still_holds(claims, now):
        return {"active": False}
    fields = asdict(claims)
    del fields["account_id"]
    return {"active": True, "token_type": "License", **fields, "aud": list(claims.aud)}


def still_holds(claims: Claims, now: datetime) -> bool:
    """Whether the token's licence is still valid and its client not revoked."""
    client = LicenseClient.objects.filter(pk=claims.client_id, account_id=claims.account_id).first()
    if client is None or client.revoked_at is not None:
        return False
    return find_licenses([client.requester_id])[client.requester_id].holds(claims.license_id, now)
