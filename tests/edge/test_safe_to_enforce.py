import pytest

from analytics.models import AccessEvent
from licensing.licenses.services import revoke_license
from tests import factories
from tests.edge.asking import LICENSED, READERS, event, told
from tests.edge.signers import signed
from tests.edge.tokens import ask_token

FOR_ACME = {**LICENSED, "conditions": {"hasValidLicense": True, "requesterId": "org_acme"}}
FOR_TIERS = {**LICENSED, "conditions": {"licenseType": ["gold", "silver"]}}
NOT_FOR_GOLD = {"action": "deny", "priority": 0, "conditions": {"licenseType": "gold"}}


def test_a_denial_is_402_if_a_licence_would_let_this_visitor_in_and_else_403(ask, site):
    for rules, status in [
        ((LICENSED, factories.DENY_ALL), 402),
        ((factories.DENY_ALL,), 403),
        ((FOR_ACME, factories.DENY_ALL), 403),
        ((FOR_TIERS, NOT_FOR_GOLD), 402),
        (({**FOR_TIERS, "permissions": ["ai_input"]},), 403),
    ]:
        site(*rules)
        reply = ask("/premium/a")
        assert told(reply) == (status, "deny", "no_license" if status == 402 else "policy_denied")
        assert ("WWW-Authenticate" in reply.headers) == (status == 402)


OPEN = {"action": "allow", "conditions": {"default": True}}


def test_an_allow_rule_without_permissions_allows_only_reading(ask, account, site, crawler_table, api_of):
    crawler_table({"name": "Seeker", "class": "search", "operator": "S", "userAgent": "Seeker",
                   "addresses": ["192.0.2.0/24"]})  # fmt: skip
    site(OPEN)
    reply = ask("/premium/a")
    assert told(reply) == (200, "allow", None)
    shown = api_of(account).get(f"/v1/access/decisions/{reply.headers['X-Access-Id']}")
    assert (shown["permission"], shown["permissions"]) == ("read", ["read"])
    crawler = ask("/premium/a", user_agent="Seeker/1.0", x_forwarded_for="192.0.2.1")
    assert told(crawler) == (403, "deny", "permission_not_granted")


IN_VAIN = {
    "invalid_token": {"authorization": "License abc.def.ghi"},
    "invalid_signature": signed(age=400),
    "invalid_payment": {"crawler_max_price": "nothing"},
}


@pytest.mark.parametrize(("reason", "sent"), IN_VAIN.items())
@pytest.mark.parametrize("mode", ["enforce", "observe", "disabled"])
def test_nothing_that_a_visitor_sends_closes_a_page_that_is_open_to_everybody(ask, site, mode, reason, sent):
    site(READERS, mode=mode)
    reply = ask("/premium/a", **sent)
    assert told(reply) == (200, "allow", None)
    assert "X-Access-Would" not in reply.headers
    assert event(reply).allowed


def test_a_token_whose_licence_has_ended_beside_an_invalid_price_closes_no_open_page(ask, site, account):
    for rules, mode in [([READERS], "enforce"), ([factories.DENY_ALL], "observe"), ([factories.DENY_ALL], "disabled")]:
        site(*rules, mode=mode)
        held, credentials = factories.license(account), factories.license_client(account)
        token = ask_token(*credentials).json()["access_token"]
        revoke_license(held)
        reply = ask("/premium/a", authorization=f"License {token}", crawler_max_price="nothing")
        assert told(reply) == (200, "allow", None)


@pytest.mark.parametrize(("reason", "sent"), IN_VAIN.items())
def test_beside_a_used_up_limit_its_refusal_names_the_recorded_decision(ask, site, reason, sent):
    site({**READERS, "rateLimit": {"requests": 1, "period": "day"}})
    replies = [ask("/premium/a", **sent) for _ in range(2)]
    assert [told(reply) for reply in replies] == [
        (200, "allow", None),
        (401 if reason == "invalid_token" else 400, "deny", reason),
    ]
    assert event(replies[1]).reason == "rate_limit_exceeded"


@pytest.mark.parametrize(("reason", "sent"), IN_VAIN.items())
def test_a_page_that_is_not_open_refuses_it_or_tells_that_it_would_as_the_mode_says(ask, site, reason, sent):
    site(LICENSED, factories.DENY_ALL)
    assert told(ask("/premium/a", **sent)) == (401 if reason == "invalid_token" else 400, "deny", reason)
    assert not AccessEvent.objects.exists()
    site(LICENSED, factories.DENY_ALL, mode="observe")
    reply = ask("/premium/a", **sent)
    assert (reply.status, reply.headers["X-Access-Would"]) == (200, f"deny; reason={reason}")
    site(LICENSED, factories.DENY_ALL, mode="disabled")
    assert ask("/premium/a", **sent).status == 200
