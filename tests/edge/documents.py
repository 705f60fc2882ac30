"""Published documents, and what they permit."""

from datetime import UTC, datetime

from django.test import Client

SEARCH_ONLY = {"action": "allow", "conditions": {"default": True}, "permissions": ["read", "search"]}
RSL, ROBOTS, TDMREP = "/license.xml", "/robots.txt", "/.well-known/tdmrep.json"


def get(path, host="pub.example", **headers):
    return Client().get(path, headers={"Host": host, **headers})


def moment(month):
    return datetime(2025, month, 1, tzinfo=UTC)
