"""Read the overview page, and create the decisions and entries that it shows."""

import re

import pytest
from django.urls import reverse
from django.utils.html import strip_tags

from tests import factories, ledger
from tests.client import ApiClient

INDEX = reverse("admin:index")
VIEW = ("analytics.view_accessevent", "analytics.view_ledgerentry", "accounts.view_apikey", "accounts.view_account")


@pytest.fixture
def at_noon(clock):
    clock.set("2026-03-04T12:30:00Z")


def page(client, **query):
    reply = client.get(INDEX, query)
    assert reply.status_code == 200
    return reply


def figure(reply, name):
    """Return the text below a figure's label."""
    return re.search(rf'<dd id="{name}">([^<]*)</dd>', reply.content.decode()).group(1)


def number(reply, name):
    return float(figure(reply, name).replace(",", ""))


def rows(reply, name):
    """Return the text of each row of a list, without bars and hints."""
    table = re.search(rf'<table aria-labelledby="{name}">(.*?)</table>', reply.content.decode(), re.S)
    lines = re.findall(r"<tr>(.*?)</tr>", table.group(1), re.S)[1:] if table else []
    return [
        [strip_tags(cell).strip() for cell in re.findall(r"<(?:a|td)[^>]*>(.*?)</(?:a|td)>", line)] for line in lines
    ]


def check(account, count=1, item=None, requester=factories.LICENSED_REQUESTER):
    api = ApiClient(factories.key_text(account))
    item = item or factories.content(account, policy_id=factories.policy(account).pk)
    for _ in range(count):
        assert api.post("/v1/access/check", {"contentId": item.pk, "requester": requester}).status == 200
    return item


@pytest.fixture
def busy(account, clock):
    """Create 3 decisions yesterday and 5 today, of two items and two requesters, and a ledger entry each day."""
    clock.set("2026-03-03T10:00:00Z")
    item = check(account, 3)
    ledger.add(account, "20.5", license_type="press", occurred_at=clock.now)
    clock.set("2026-03-04T10:00:00Z")
    check(account, 3, item)
    check(account, 1, item, "org_zero")
    ledger.add(account, "9.25", license_type="commercial", occurred_at=clock.now)
    clock.set("2026-03-04T12:30:00Z")
    check(account)
    return item
