"""Shared helpers of the edge tests."""

from datetime import timedelta

from django.utils import timezone

from analytics.models import AccessEvent
from licensing.visits import counting

READERS = {"action": "allow", "conditions": {"default": True}, "permissions": ["read"]}
LICENSED = {"action": "allow", "priority": 1, "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]}


def told(reply):
    return reply.status, reply.headers.get("X-Access-Decision"), reply.headers.get("X-Access-Reason")


def event(reply):
    return AccessEvent.objects.select_related("requester").get(pk=reply.headers["X-Access-Id"])


def count_all():
    """Count everything recorded, as if its minutes were over."""
    return list(counting.count_in_steps(timezone.now() + timedelta(minutes=2)))
