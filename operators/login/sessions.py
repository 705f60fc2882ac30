"""What a session notes of its login, and ending those of an operator: what they were signed in by holds no more."""

import time
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.utils import timezone

from operators.login.session_store import stored_key

SIGNED_IN_AT, SECOND_FACTOR = "signed_in_at", "second_factor"  # keys of a session


def mark_session(session: Any, *, second_factor: bool) -> None:
    """Notes when and how somebody signed in."""
    session[SIGNED_IN_AT] = int(time.time())
    session[SECOND_FACTOR] = second_factor


def end_sessions(user: Any, *, keep: str | None = None) -> None:
    """Signs the operator out everywhere but in the session whose key is `keep`.

    A session tells whose it is only to who opens it. There are as many as operators who signed in within the last
    hours, so they are all looked at.
    """
    running = Session.objects.filter(expire_date__gt=timezone.now())
    if keep is not None:
        running = running.exclude(pk=stored_key(keep))
    theirs = [one.pk for one in running.iterator() if one.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=theirs).delete()
