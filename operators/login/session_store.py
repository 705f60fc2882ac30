"""Sessions of operators: stored under digests of their keys, with login data, and ended.

The table therefore gives no access to sessions: the key itself is only in the cookie.
"""

import time
from hashlib import blake2b

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.models import Session
from django.utils import timezone

SIGNED_IN_AT, SECOND_FACTOR = "signed_in_at", "second_factor"  # session entries
DIGEST_BYTES = 20  # fills the column in hexadecimal


def stored_key(session_key: str) -> str:
    """Return the digest of a session key; needs no secret, because a key has 165 random bits."""
    return blake2b(session_key.encode(), digest_size=DIGEST_BYTES, person=b"session").hexdigest()


class SessionStore(DatabaseSessionStore):
    def _get_session_from_db(self) -> Session | None:
        key = stored_key(self.session_key or "")
        session = Session.objects.filter(pk=key, expire_date__gt=timezone.now()).first()
        if session is None:
            self._session_key = None
        return session

    def exists(self, session_key: str) -> bool:
        return super().exists(stored_key(session_key))

    def create_model_instance(self, data: dict[str, object]) -> AbstractBaseSession:
        session = super().create_model_instance(data)
        session.session_key = stored_key(session.session_key)
        return session

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            super().delete(stored_key(key))

    # The backend's asynchronous methods would look up the key itself; these run the methods above in a thread.
    aexists = SessionBase.aexists
    acreate = SessionBase.acreate
    aload = SessionBase.aload
    asave = SessionBase.asave
    adelete = SessionBase.adelete


def mark_session(session: SessionBase, *, second_factor: bool) -> None:
    """Record when and how the operator signed in."""
    session[SIGNED_IN_AT] = int(time.time())
    session[SECOND_FACTOR] = second_factor


def end_sessions(user: User, *, keep: str | None = None) -> None:
    """End all sessions of the operator except the one with the key `keep`.

    A session's owner is only in its data, so all sessions are read; there are as many as logins within the last hours.
    """
    running = Session.objects.filter(expire_date__gt=timezone.now())
    if keep is not None:
        running = running.exclude(pk=stored_key(keep))
    theirs = [session.pk for session in running.iterator() if session.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=theirs).delete()
