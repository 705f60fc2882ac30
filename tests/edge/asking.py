"""Shared helpers of the edge tests."""

from analytics.models import AccessEvent

READERS = {"action": "allow", "conditions": {"default": True}, "permissions": ["read"]}
LICENSED = {"action": "allow", "priority": 1, "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]}


def told(reply):
    return reply.status, reply.headers.get("X-Access-Decision"), reply.headers.get("X-Access-Reason")


def event(reply):
    return AccessEvent.objects.select_related("requester").get(pk=reply.headers["X-Access-Id"])
