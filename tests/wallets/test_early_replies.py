"""Replies to checks that spend are rendered while their record is committed; the record fills in what remains."""

from typing import Any

import pytest
from django.conf import settings

from analytics.models import AccessEvent
from licensing.access.event_loop import application as event_loop
from licensing.access.event_loop.application import CheckApplication
from tests import factories
from tests.wallets.together import post_together
from tests.ways import GatewayClient

TOGETHER = 8  # more than the works that run in a task of their own
ON_POSTGRESQL = settings.DATABASES["default"]["ENGINE"].endswith("postgresql")


class Shop:
    """An account whose licensees prepay 0.05 USD per access, with simultaneous checks on the event loop."""

    def __init__(self, application: CheckApplication) -> None:
        self.account = factories.account()
        self.client = GatewayClient(factories.key_text(self.account), application)
        self.item = factories.content(self.account, policy_id=factories.policy(self.account).pk).pk

    def licensee(self, name: str, amount: str) -> None:
        factories.license(self.account, name, per_access="0.05")
        factories.wallet(self.account, "USD", amount, requester_id=name)

    def check(self, *requesters: Any, **fields: Any) -> list[Any]:
        bodies = [{"contentId": self.item, "requester": one, **fields} for one in requesters]
        return [reply.body for reply in post_together(self.client, "/v1/access/check", bodies)]


@pytest.fixture
def shop(db, application) -> Shop:
    return Shop(application)


@pytest.fixture
def filled_in(monkeypatch):
    """The replies that were filled in after their record."""
    filled: list[bytes] = []
    fill = event_loop.fill_remaining

    def noted(reply, answer):
        filled.append(reply)
        return fill(reply, answer)

    monkeypatch.setattr(event_loop, "fill_remaining", noted)
    return filled


def recorded(decision_id: str) -> Any:
    return AccessEvent.objects.get(pk=decision_id).facts["credits"]["remaining"]


def test_simultaneous_replies_show_the_balance_after_their_own_spend(shop, filled_in):
    shop.licensee("org_a", "100")
    shop.licensee("org_b", "7")
    replies = shop.check(*["org_a", "org_b"] * TOGETHER)
    assert all(reply["allowed"] for reply in replies)
    for name, first in (("org_a", 100), ("org_b", 7)):
        left = sorted(one["credits"]["remaining"] for one in replies if one["requester"]["id"] == name)
        assert left == pytest.approx([first - 0.05 * count for count in range(TOGETHER, 0, -1)])
    assert {plain_of(one["credits"]["remaining"]) == recorded(one["id"]) for one in replies} == {True}
    if ON_POSTGRESQL:
        assert filled_in


def test_a_name_with_the_mark_in_it_stays_as_it_is(shop):
    shop.licensee("org_a", "100")
    name = "A\\u0000B \\0 remaining"
    replies = shop.check(*[{"id": "org_a", "name": name}] * TOGETHER)
    assert {reply["requester"]["name"] for reply in replies} == {name}


def test_checks_that_the_wallet_covers_no_longer_are_denied_whatever_was_rendered(shop):
    shop.licensee("org_a", "0.22")
    replies = shop.check(*["org_a"] * TOGETHER)
    assert sorted(reply["allowed"] for reply in replies) == [False] * (TOGETHER - 4) + [True] * 4
    denied = [reply for reply in replies if not reply["allowed"]]
    assert {(one["reason"], one["credits"]["available"]) for one in denied} == {("credits_exhausted", 0.02)}


def test_explained_and_signed_replies_are_rendered_early_too(shop):
    shop.licensee("org_a", "100")
    replies = shop.check(*["org_a"] * TOGETHER, explain=True, sign=True)
    assert sorted(reply["credits"]["remaining"] for reply in replies)[-1] == 99.95
    assert all(reply["trace"] and reply["token"] for reply in replies)


def plain_of(number: float) -> str:
    return f"{number:.2f}".rstrip("0").removesuffix(".")
