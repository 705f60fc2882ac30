"""Login data in the session, and ending an operator's sessions."""

import time

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.utils import timezone

from operators.login.session_store import stored_key

SIGNED_IN_AT, SECOND_FACTOR = "signed_in_at", "second_factor"  # session entries


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
