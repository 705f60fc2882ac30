"""Ending the sessions of an operator: what they were signed in by holds no more."""

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.utils import timezone


def end_sessions(user: Any) -> None:
    """Signs the operator out everywhere.

    A session tells whose it is only to who opens it. There are as many as operators who signed in within the last
    hours, so they are all looked at.
    """
    running = Session.objects.filter(expire_date__gt=timezone.now())
    theirs = [one.pk for one in running.iterator() if one.get_decoded().get(SESSION_KEY) == str(user.pk)]
    Session.objects.filter(pk__in=theirs).delete()
