"""Stores sessions under digests of their keys, so that the table does not give access to them.

The key itself is only in the cookie.
"""

from hashlib import blake2b

from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.sessions.models import Session
from django.utils import timezone

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
