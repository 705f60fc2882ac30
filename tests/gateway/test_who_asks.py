from unittest.mock import AsyncMock

import pytest
from django.db import OperationalError

from accounts.keys import services as key_services
from accounts.models import ApiKey
from accounts.plans import services as plan_services
from kit.storage.microbatch import MicroBatch
from licensing.requesters.models import Requester
from tests import factories
from tests.ways import GatewayClient


@pytest.fixture
def item(account):
    return factories.content(account, policy_id=factories.policy(account, factories.ALLOW_ALL).pk)


@pytest.fixture
def check(api, item):
    return lambda requester="org_acme": api.post("/v1/access/check", {"contentId": item.pk, "requester": requester})


@pytest.fixture
def used_up(account, check, clock):
    """An account that has used up its limit of one request a minute."""
    plan_services.update_account(account, {"plan": "enterprise", "requests_per_minute": 1, "requests_per_day": 10})
    assert check().status == 200
    assert check().status == 429


def limit_of(reply):
    return int(reply.headers["X-RateLimit-Limit"])


def test_a_raised_limit_lets_the_next_checks_in_and_counts_each_once(account, check, used_up):
    plan_services.update_account(account, {"requests_per_minute": 3})
    replies = [check() for _ in range(3)]
    assert [reply.status for reply in replies] == [200, 200, 429]
    assert limit_of(replies[0]) == 3


def test_a_key_that_was_revoked_beyond_its_limit_is_refused_for_that(account, check, used_up):
    key_services.revoke_api_key(ApiKey.objects.get(account=account))
    assert check().error["code"] == "invalid_api_key"


def test_beyond_its_limit_a_check_is_refused_for_that_though_the_key_cannot_be_read(application, check, used_up):
    application.gateway.callers.keys = MicroBatch(AsyncMock(side_effect=OperationalError))
    assert check().error["code"] == "rate_limit_exceeded"


def test_a_limiter_with_no_room_for_one_more_is_an_error_of_the_api(application, check):
    application.gateway.callers.limits = MicroBatch(AsyncMock(side_effect=AssertionError), max_waiting=0)
    reply = check()
    assert (reply.status, reply.error["code"], limit_of(reply)) == (503, "service_unavailable", 60)


def test_a_check_of_an_unknown_item_renames_no_requester(api, account, check):
    check({"id": "org_acme", "name": "Acme"})
    api.post("/v1/access/check", {"contentId": "cnt_unknown", "requester": {"id": "org_acme", "name": "Wrong"}})
    assert Requester.objects.get(account=account).name == "Acme"
    assert check()["requester"]["name"] == "Acme"


def test_a_flood_from_an_address_outside_a_keys_list_counts_by_address(application, account, clock):
    api = GatewayClient(factories.key_text(account, allowed_ips=["203.0.113.9"]), application)
    check = {"contentId": "cnt_unknown", "requester": "org_acme"}
    replies = [api.post("/v1/access/check", check) for _ in range(61)]
    assert [reply.status for reply in replies] == [403] * 60 + [429]
    assert limit_of(replies[0]) == 60
