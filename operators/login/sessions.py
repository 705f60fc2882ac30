"""Notes of a login in its session, and the end of all sessions of an operator."""

import time

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.utils import timezone

from operators.login.session_store import stored_key

SIGNED_IN_AT, SECOND_FACTOR = "signed_in_at", "second_factor"  # keys of a session


def mark_session(session: SessionBase, *, second_factor: bool) -> None:
    """Notes when and how somebody signed in."""
    session[SIGNED_IN_AT] = int(time.time())
    session[SECOND_FACTOR] = second_factor


def end_sessions(user: User, *, keep: str | None = None) -> None:
    """Signs the operator out of every session but the one whose key is `keep`.

    Whose a session is stands only in its data. There are no more sessions than logins within the last hours, so all of
    them are read.
    """
    running = Session.objects.filter(expire_date__gt=timezone.now())
    if keep is not None:
        running = running.exclude(pk=stored_key(keep))
    theirs = [one.pk for one in running.iterator() if one.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=theirs).delete()
