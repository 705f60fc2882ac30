"""Published documents, and what they permit."""

from datetime import UTC, datetime

from django.test import Client

from licensing.sites.models import Site
from licensing.sites.services import delete_site
from tests import factories

SEARCH_ONLY = {"action": "allow", "conditions": {"default": True}, "permissions": ["read", "search"]}
RSL, ROBOTS, TDMREP = "/license.xml", "/robots.txt", "/.well-known/tdmrep.json"


def replace_site(account, rules, **fields):
    """Create pub.example with these rules in place of the one that the test created before."""
    for earlier in Site.objects.filter(account=account, host="pub.example"):
        delete_site(earlier)
    return factories.site(account, rules, host="pub.example", **fields)


def get(path, host="pub.example", **headers):
    return Client().get(path, headers={"Host": host, **headers})


def moment(month):
    return datetime(2025, month, 1, tzinfo=UTC)
