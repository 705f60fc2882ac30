from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib import admin as django_admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from analytics.models import AccessEvent, ExchangeRate, LedgerEntry, Statement
from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.policies.models import Policy
from licensing.requesters.models import Requester
from licensing.sites.models import Site
from operators.staff.services import create_operator
from tests import factories

SHOWN = [AccessEvent, Content, LedgerEntry, License, Policy, Requester, Site, Statement]
ELSEWHERE = {
    "decide_again",
    "list_decisions",
    "refund",
    "adjust",
    "issue_license",
    "check_access",
    "statement",
    "record_payment",
    "charge",
    "renew",
    "duplicate",
}  # which lead to another page


def more(account, api, number):
    policy = factories.policy(account)
    for one in range(number):
        factories.site(account, {"/a/*": policy, "/b/*": None})
        item = factories.content(account, policy_id=policy.pk, tags=["a"])
        factories.license(account, f"org_{one}", price_amount=Decimal(1), price_currency="EUR", per_access="0.05")
        api.post("/v1/access/check", {"contentId": item.pk, "requester": f"org_{one}"})


def look_after(account, api):
    """Create a licence that ends soon for a denied customer, a requester without a licence, and exchange rates."""
    item = factories.content(account, policy_id=factories.policy(account).pk)
    factories.license(account, "org_x", license_type="other", expires_at=timezone.now() + timedelta(days=9))
    for requester in ("org_x", "org_keen"):
        api.post("/v1/access/check", {"contentId": item.pk, "requester": requester})
    for currency in ("USD", "CHF"):
        ExchangeRate.objects.create(currency=currency, day=timezone.now().date() - timedelta(days=1), rate="1.25")


def address(model, page, *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def queries(client, path):
    with CaptureQueriesContext(connection) as asked:
        assert client.get(path).status_code == 200
    return len(asked)


@pytest.mark.parametrize("model", SHOWN)
def test_a_list_takes_as_many_queries_for_many_rows_as_for_few_and_a_page_of_one_at_most_25(
    admin, account, api, model
):
    path = address(model, "changelist")
    more(account, api, 2)
    few = queries(admin, path)
    more(account, api, 6)
    assert queries(admin, path) == few < 25
    newest = model.objects.order_by("-pk")[0].pk
    actions = [name for name in django_admin.site._registry[model].actions_detail if name not in ELSEWHERE]
    for page in ["change", *actions]:
        assert queries(admin, address(model, page, newest)) <= 25


@pytest.mark.parametrize("role", [None, "Viewer"])
@pytest.mark.parametrize(
    "query", ["", "?period=year", "?currency=CHF", "?period=year&currency=EUR", "?currency=EUR&account={account}"]
)
def test_the_overview_takes_at_most_29_for_everybody(sign_in, account, other_account, api, role, query):
    """Roles and account scopes cost queries too, and so do the looks for what is due and for refused proxies."""
    more(account, api, 3)
    look_after(account, api)
    who = {"superuser": True} if role is None else {"role": role, "accounts": [account, other_account]}
    client = sign_in(create_operator("eve", **who)[0])
    html = client.get(reverse("admin:index") + query.format(account=account.pk)).content.decode()
    assert "Who was refused most" in html
    assert "revenue-total" in html
    assert queries(client, reverse("admin:index") + query.format(account=account.pk)) <= 29


def test_the_debtors_are_counted_with_as_many_parameters_for_many_as_for_few(admin, account, api):
    path = f"{address(Requester, 'changelist')}?balance=owes"
    more(account, api, 2)
    few = parameters_of_counts(admin, path)
    more(account, api, 6)
    assert parameters_of_counts(admin, path) == few


def parameters_of_counts(client, path):
    numbers = []

    def note(execute, sql, params, many, context):
        if "COUNT(" in sql:
            numbers.append(len(params))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        assert client.get(path).status_code == 200
    return numbers
