"""The demo account. The tests share one, and only read it: manage.py seed_demo takes seconds."""

import io
from datetime import datetime
from typing import Any, NamedTuple

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from accounts.models import ApiKey
from analytics.models import AccessEvent
from licensing.access.examples import CHECK
from licensing.content.models import Content
from licensing.demo import account as demo_account
from licensing.policies.decision import Reason
from licensing.policies.models import Policy
from licensing.requesters.models import Requester
from tests.client import ApiClient
from tests.commands.seeding import DAYS, seed
from tests.standing import Unblock, as_new

pytestmark = pytest.mark.django_db


class Demo(NamedTuple):
    begun: datetime
    printed: dict[str, Any]


@pytest.fixture(scope="module")
def seeded(for_the_module: Unblock) -> Demo:
    with for_the_module():
        return Demo(timezone.now(), seed())


@pytest.fixture
def demo(db: None, seeded: Demo) -> Demo:
    as_new(seeded.printed["account"]["id"])
    return seeded


@pytest.fixture
def api(demo: Demo) -> ApiClient:
    return ApiClient(demo.printed["key"])


def test_its_account_has_something_of_everything(api: ApiClient, demo: Demo) -> None:
    shown = demo.printed
    assert (shown["object"], shown["seeded"], shown["account"]["object"]) == ("demo", True, "account")
    content = api.get("/v1/content", limit=100)["data"]
    assert len(content) == 30
    assert {item["type"] for item in content} == {"article", "report", "image", "dataset", "video"}
    assert api.get("/v1/policies")["totalCount"] == 4
    assert {key["type"] for key in api.get("/v1/api-keys")["data"]} == {"secret", "public"}
    assert ApiClient(shown["publicKey"]).get("/v1/content").status == 200

    [site] = api.get("/v1/sites")["data"]
    assert (site["host"], site["mode"]) == ("saltmarsh.example", "observe")
    report = api.get("/v1/analytics/crawlers", period="30d")
    assert {one["crawlerClass"] for one in report["byClass"]} == {"ai_training", "ai_index", "ai_input", "search"}
    operators = {one["operator"]: one for one in report["byOperator"]}
    assert operators["OpenAI"]["violations"] > 0
    assert operators["OpenAI"]["crawlsPerReferral"] > operators["Google"]["crawlsPerReferral"] > 0
    assert report["summary"]["revenueAtStake"][0]["amount"] > 0
    assert len({one["date"] for one in report["timeSeries"]}) >= DAYS - 1


def test_its_policies_have_examples_which_guard_them(api: ApiClient) -> None:
    policies = api.get("/v1/policies")["data"]
    assert [len(policy["tests"]) >= 2 for policy in policies] == [True] * 4
    for policy in policies:
        reply = api.patch(f"/v1/policies/{policy['id']}", {"rules": [], "defaultAction": "deny"})
        assert reply.status_and_param == (422, "tests[0]")
    call_command("test_policies", stdout=io.StringIO())


@pytest.mark.usefixtures("demo")
def test_its_keys_and_requesters_are_as_old_as_their_first_use(demo: Demo) -> None:
    assert all(key.created_at >= demo.begun for key in ApiKey.objects.all())
    for requester in Requester.objects.all():
        first = AccessEvent.objects.filter(requester=requester).order_by("created").first()
        assert first is None or requester.created <= first.created
    first = AccessEvent.objects.earliest("created").created
    for model in (Content, Policy):
        assert not model.objects.filter(created__gt=first).exists()
    operator = demo.printed["operator"]
    assert operator["address"].endswith("/admin/")
    assert Client().login(username=operator["username"], password=operator["password"])


def test_its_decisions_are_of_the_last_days_and_of_every_kind(api: ApiClient) -> None:
    decisions = api.get("/v1/access/decisions", limit=1)
    assert decisions["totalCount"] > 200
    assert len({event.created.date() for event in AccessEvent.objects.all()}) >= DAYS
    # No wallet is used up yet, and no key is restricted to hosts.
    others = {Reason.CREDITS_EXHAUSTED, Reason.QUOTA_EXCEEDED, Reason.HOST_NOT_ALLOWED}
    assert {event.reason for event in AccessEvent.objects.all()} == {None, *({*Reason} - others)}
    newest = decisions["data"][0]
    assert (
        newest["created"]
        <= api.post("/v1/access/check", {"externalId": demo_account.SHOWN, "requester": "a"})["created"]
    )


def test_two_customers_paid_in_advance_and_one_has_nearly_used_it_up(api: ApiClient) -> None:
    wallets = {wallet["requesterId"]: wallet for wallet in api.get("/v1/wallets")["data"]}
    assert {name: (one["unit"], one["balance"]) for name, one in wallets.items()} == {
        "org_curlew": ("USD", 34),
        "org_moorhen": ("access", 10),
    }
    payments = api.get("/v1/payments")["data"]
    assert {payment["requesterId"]: payment["grantId"] is not None for payment in payments} == {
        "org_curlew": False,
        "org_moorhen": True,
    }
    for wallet in wallets.values():
        entries = api.get(f"/v1/wallets/{wallet['id']}/entries", limit=100)
        assert entries["totalCount"] == 1 + {"USD": 120, "access": 240}[wallet["unit"]]
        assert [entry["created"] for entry in entries["data"]] == sorted(
            (entry["created"] for entry in entries["data"]), reverse=True
        )
    low = [event["data"] for event in api.get("/v1/events", type="wallet.low")["data"]]
    assert [one["requesterId"] for one in low] == ["org_moorhen"]


def test_its_decisions_and_reports_agree_in_three_currencies(api: ApiClient) -> None:
    report = api.get("/v1/analytics/usage", period="30d")
    assert report["summary"]["totalRequests"] == api.get("/v1/access/decisions", limit=1)["totalCount"]
    entries = api.get("/v1/revenue", limit=100)["data"]
    assert {entry["currency"] for entry in entries} == {"EUR", "GBP", "USD"}
    assert {entry["type"] for entry in entries} == {"license", "usage"}
    report = api.get("/v1/analytics/revenue", currency="USD", period="30d")
    assert report["summary"]["total"] > 0
    assert set(report["byLicenseType"]) >= {"enterprise", "commercial", "academic"}
    assert CHECK["externalId"] == demo_account.SHOWN
    reply = api.post("/v1/access/check", CHECK)
    assert (reply.status, reply["allowed"]) == (200, True)
