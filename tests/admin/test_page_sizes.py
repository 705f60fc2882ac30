from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib import admin as django_admin
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from analytics.models import LedgerEntry, Statement
from operators.base.links import list_url
from operators.staff.services import create_operator
from tests import factories
from tests.admin.every_page import addresses, model_of, names_of_pages
from tests.client import ApiClient

MOST, ROWS = 120 * 1024, 50
PRINTED = {"analytics_statement_print_items"}  # with a sheet for each listed statement
LISTS = sorted(name for name in names_of_pages() if name.endswith("_changelist"))


def title(number):
    """Return a title of typical length."""
    return f"The quarterly outlook for harbours, ferries and small islands, part {number}"


def rules(number):
    """Return 50 slightly different rules."""
    held = {"hasValidLicense": True, "tags": ["a", "b"]}
    each = [
        {
            "action": "allow",
            "priority": index + 1,
            "conditions": {"licenseType": ["commercial", f"tier {index}"], **held},
            "permissions": ["read", "text_mining"],
            "rateLimit": {"requests": 100, "period": "hour"},
        }
        for index in range(number)
    ]
    return [*each, factories.DENY_ALL]


@pytest.fixture(scope="module")
def filled(for_the_module):
    """An account with 50 of each resource, beside other accounts."""
    with for_the_module():
        account = factories.account("The Coastal Publishing House")
        api = ApiClient(factories.key_text(account))
        for number in range(ROWS):
            factories.account(f"Publishing house number {number}")
            name = f"org_customer_{number:03}"
            policy = factories.policy(account, *rules(10), name=f"Licensed tiers, revision {number}")
            fields = {"external_id": f"outlook-{number:04}", "type": "report", "category": "Economy"}
            item = factories.content(account, title=title(number), policy_id=policy.pk, tags=["a"], **fields)
            terms = {"price_amount": Decimal(1200), "price_currency": "GBP", "per_access": "0.35"}
            factories.license(account, name, expires_at=timezone.now() + timedelta(days=20), **terms)
            factories.license_client(account, name, name=f"Crawler of customer {number}")
            factories.wallet(account, requester_id=name)
            factories.payment(account, requester_id=name)
            factories.api_key(account, name=f"Web server number {number}")
            factories.endpoint(account, url=f"https://hooks-{number}.publisher.example/in", description="All of it")
            patterns = {f"/part-{part}/*": policy for part in range(20)}
            factories.site(account, patterns)
            create_operator(f"operator-{number}", role="Viewer", accounts=[account])
            Group.objects.create(name=f"Role number {number}")
            api.post("/v1/access/check", {"contentId": item.pk, "requester": name})
            api.post("/v1/access/check", {"contentId": item.pk, "requester": "org_customer_000"})
    return account


@pytest.fixture
def operator(db, filled):
    client = Client()
    client.force_login(User.objects.create_superuser("measured"))
    return client


def size_of(client, address):
    """Return the page's size in bytes of HTML; None if the reply is not a page."""
    reply = client.get(address)
    assert reply.status_code in (200, 302, 403, 404), address
    if reply.status_code != 200 or "text/html" not in reply.headers["Content-Type"]:
        return None
    return len(reply.content)


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_50_rows_is_no_larger(operator, name):
    model = model_of(name)
    reply = operator.get(list_url(model))
    assert len(reply.context["cl"].result_list) == ROWS, "the test has to make more of these"
    assert len(reply.content) <= MOST


def test_no_other_page_is_larger(operator, filled):
    sizes = {name: size_of(operator, address) for name, address in addresses()}
    measured = {name for name, size in sizes.items() if size is not None}
    assert {name: size for name, size in sizes.items() if (size or 0) > MOST and name not in PRINTED} == {}
    assert len(measured) >= len(django_admin.site._registry) * 2
    for model, query in ((LedgerEntry, "type__exact=usage"), (Statement, "status=open")):
        assert len(operator.get(f"{list_url(model)}?{query}").content) <= MOST
