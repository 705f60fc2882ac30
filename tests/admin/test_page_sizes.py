"""No page of the admin is larger than a slow line brings in a moment, with as many rows as a list shows."""

from decimal import Decimal

import pytest
from django.contrib import admin as django_admin
from django.urls import reverse

from accounts.models import ApiKey
from analytics.models import LedgerEntry, Statement
from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.policies.models import Policy
from licensing.requesters.models import Requester
from operators.base.model_admin import ScopedAdmin
from tests import factories
from tests.client import ApiClient

MOST = 120_000  # bytes of HTML
ROWS = ScopedAdmin.list_per_page
LISTS = sorted(f"{model._meta.app_label}_{model._meta.model_name}_changelist" for model in django_admin.site._registry)
ADDS = ["licensing_license_add", "licensing_policy_add", "analytics_ledgerentry_add", "licensing_content_add"]


@pytest.fixture(scope="module")
def full(for_the_module):
    """A page and one more of everything, with names as people give them."""
    with for_the_module():
        account = factories.account("The Saltmarsh Review")
        api = ApiClient(factories.key_text(account))
        policy = factories.policy(account)
        for number in range(ROWS + 1):
            name = f"Number {number} of a series with a name that is not short at all"
            factories.policy(account, name=name)
            factories.site(account, {"/a/*": policy, "/b/*": None})
            item = factories.content(
                account, policy_id=policy.pk, title=name, tags=["news"], external_id=f"item-{number}"
            )
            price = {"price_amount": Decimal(100), "price_currency": "EUR", "per_access": "0.05"}
            factories.license(account, f"org_{number}", requester_name=f"Customer {number}", tags=["news"], **price)
            factories.api_key(account, name=name)
            factories.endpoint(account)
            factories.license_client(account, f"org_{number}")
            api.post("/v1/access/check", {"contentId": item.pk, "requester": f"org_{number}"})
        for number in range(ROWS):
            factories.account(f"Publisher {number}")
        return account


def size(client, address):
    reply = client.get(address)
    assert reply.status_code == 200
    return len(reply.content)


@pytest.mark.parametrize("name", LISTS)
def test_a_list_with_50_rows_is_of_at_most_120_kilobytes(admin, full, name):
    assert size(admin, reverse(f"admin:{name}")) <= MOST


@pytest.mark.parametrize("name", ["index", "check_access", "visitors", *ADDS])
def test_so_is_a_page_that_is_no_list(admin, full, name):
    assert size(admin, reverse(f"admin:{name}")) <= MOST


@pytest.mark.parametrize("model", [ApiKey, Content, LedgerEntry, License, Policy, Requester, Statement])
def test_so_is_the_page_of_one(admin, full, model):
    newest = model.objects.order_by("-pk")[0].pk
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
    assert size(admin, reverse(name, args=[newest])) <= MOST
