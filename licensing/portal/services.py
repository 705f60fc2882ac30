"""Create, redeem and end portal sessions."""

import secrets
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from accounts.auditing import audit
from accounts.keys import keytext
from kit.http.errors import InUse
from kit.storage.reading import stored_now
from licensing.portal.models import PortalSession
from licensing.requesters.models import Requester

LINK_LIFETIME = timedelta(minutes=15)
SESSION_LIFETIME = timedelta(hours=24)
TOKEN_BYTES = 32
TOKEN_CHARACTERS = 43  # of as many bytes in base64


@transaction.atomic
def create_session(requester: Requester, scopes: Sequence[str], return_url: str | None) -> tuple[PortalSession, str]:
    """Create a session that a link begins; return it with the link's token, which is not stored.

    Raises InUse if the requester was merged into another one.
    """
    if requester.merged_into is not None:
        raise InUse(f"It was merged into {requester.current.requester_id[:100]!r}. Create a session of that one.")
    now = stored_now()
    token = secrets.token_urlsafe(TOKEN_BYTES)
    PortalSession.objects.filter(account=requester.account_id, expires_at__lte=now).delete()
    session = PortalSession.objects.create(
        account_id=requester.account_id,
        requester=requester,
        scopes=list(scopes),
        return_url=return_url,
        digest=keytext.digest(token),
        expires_at=now + LINK_LIFETIME,
        created=now,
    )
    audit.record("portal_session.created", session, {})
    return session, token


def find_session(token: str, *, is_redeemed: bool) -> PortalSession | None:
    """Return the session of a cookie, or of a link that was not redeemed, unless it has expired."""
    if len(token) != TOKEN_CHARACTERS or not token.isascii():
        return None
    rows = PortalSession.objects.select_related("account", "requester")
    session = rows.filter(digest=keytext.digest(token), redeemed_at__isnull=not is_redeemed).first()
    return session if session is not None and session.is_valid(timezone.now()) else None


def redeem(session: PortalSession) -> str | None:
    """Redeem the link: begin the session. Return its cookie's token, or None if another request redeemed it first."""
    now = timezone.now()
    token = secrets.token_urlsafe(TOKEN_BYTES)
    unredeemed = PortalSession.objects.filter(pk=session.pk, redeemed_at=None, expires_at__gt=now)
    redeemed = unredeemed.update(digest=keytext.digest(token), redeemed_at=now, expires_at=now + SESSION_LIFETIME)
    return token if redeemed else None
