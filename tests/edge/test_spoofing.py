import pytest

from analytics.models import AccessEvent, LedgerEntry
from licensing.access.recorded_decisions import recorded_answers
from tests import factories
from tests.edge.asking import LICENSED, READERS, event, told
from tests.edge.tokens import ask_token

CLAIMS = ["GPTBot/1.0", "Googlebot/2.1", "archive.org_bot", "Claude-User/1.0"]
TWICE = {**READERS, "rateLimit": {"requests": 2, "period": "month"}}
SEARCHED = {"action": "allow", "conditions": {"permission": ["search"]}, "permissions": ["search"]}
EVERYTHING = {"action": "allow", "conditions": {"default": True}, "permissions": ["full_access"]}


def denied(requester):
    return {"action": "deny", "conditions": {"requesterId": requester}}


def test_a_claimed_crawler_gets_no_more_than_an_anonymous_visitor(ask, site, account):
    for agent in CLAIMS:
        site(denied("anonymous"), EVERYTHING)
        assert told(ask("/premium/a")) == (403, "deny", "policy_denied")
        assert told(ask("/premium/a", user_agent=agent)) == (403, "deny", "policy_denied")
    site(denied("unverified:googlebot"), EVERYTHING)
    assert ask("/premium/a", user_agent="Googlebot/2.1").status == 403
    assert ask("/premium/a").status == 200
    site(LICENSED, factories.DENY_ALL)
    factories.license(account, "unverified:gptbot")
    assert ask("/premium/a", user_agent="GPTBot/1.0").status == 402
    for agent in CLAIMS:
        site(READERS)
        facts = event(ask("/premium/a", user_agent=agent)).facts
        assert facts["identifiedBy"] == "user_agent"


def test_claims_share_the_limit_of_everybody_unknown(ask, site, account):
    site({**EVERYTHING, "rateLimit": {"requests": 2, "period": "month"}})
    assert [ask("/premium/a").status for _ in range(2)] == [200, 200]
    for agent in CLAIMS:
        assert told(ask("/premium/a", user_agent=agent)) == (429, "deny", "rate_limit_exceeded")
    site({**EVERYTHING, "rateLimit": {"requests": 2, "period": "month"}})
    assert [ask("/premium/a", user_agent=agent).status for agent in CLAIMS] == [200, 200, 429, 429]
    assert ask("/premium/a").status == 429
    site(SEARCHED, TWICE)
    assert [ask("/premium/a", user_agent="Googlebot/2.1").status for _ in range(3)] == [200, 200, 429]
    site(SEARCHED, {**TWICE, "conditions": {"hasValidLicense": True}})
    factories.license(account)
    token = ask_token(*factories.license_client(account)).json()["access_token"]
    sent = {"authorization": f"License {token}", "user_agent": "Googlebot/2.1"}
    assert [ask("/premium/a", **sent).status for _ in range(3)] == [200, 200, 429]


def test_a_decision_records_the_requester_that_its_rules_judged(ask, site):
    site(denied("anonymous"), EVERYTHING)
    reply = ask("/premium/a", user_agent="GPTBot/1.0")
    recorded = event(reply)
    assert (recorded.requester.requester_id, recorded.facts["decidedAs"]) == ("unverified:gptbot", "anonymous")
    [answer] = recorded_answers(AccessEvent.objects.select_related("requester"))
    assert (answer.requester_id, answer.facts.requester_id) == ("unverified:gptbot", "anonymous")


def priced(permissions, amount):
    return {"action": "allow", "conditions": {"permission": permissions}, "permissions": permissions,
            "pricePerAccess": {"amount": amount, "currency": "USD"}}  # fmt: skip


@pytest.fixture
def pay(ask, account):
    """Request the page with an API key that claims GPTBot and pays up to two dollars."""
    authorization = f"Bearer {factories.key_text(account)}"
    return lambda **headers: ask(
        "/premium/a",
        **{"authorization": authorization, "user_agent": "GPTBot/1.0", "crawler_max_price": "USD 2", **headers},
    )


def test_a_claimed_crawler_cannot_pay_less_than_readers(pay, site):
    site(priced(["ai_training"], "0.015"), factories.DENY_ALL)
    assert told(pay()) == told(pay(user_agent="Mozilla/5.0")) == (403, "deny", "policy_denied")
    assert not LedgerEntry.objects.exists()
    site(priced(["ai_training"], "0.015"), priced(["read"], "1"))
    reply = pay()
    assert (told(reply), reply.headers["crawler-price"]) == ((402, "deny", "no_license"), "USD 1.00")
    assert not LedgerEntry.objects.exists()
    assert pay(user_agent="Mozilla/5.0").headers["crawler-charged"] == "USD 1.00"


@pytest.mark.parametrize(
    "rules", [[priced(["ai_training"], "0.25"), READERS], [priced(["ai_training", "read"], "0.25")],
              [priced(["ai_training"], "0.25"), priced(["read"], "0.25")],
              [{**READERS, "conditions": {"permission": ["ai_training"]}, "permissions": ["ai_training"]},
               priced(["read"], "0.25")]]
)  # fmt: skip
def test_a_payment_buys_a_claim_if_the_other_permission_is_free_or_has_the_same_price(pay, site, rules):
    site(*rules)
    assert pay().headers["crawler-charged"] == "USD 0.25"
    assert [str(entry.amount) for entry in LedgerEntry.objects.all()] == ["0.250000"]


def test_a_paid_claim_counts_on_the_limit_of_readers(pay, site, api):
    site(priced(["ai_training"], "0.25"), TWICE)
    replies = [pay() for _ in range(3)]
    assert [reply.status for reply in replies] == [200, 200, 429]
    assert [str(entry.amount) for entry in LedgerEntry.objects.all()] == ["0.250000"] * 2
    first = api.get(f"/v1/access/decisions/{replies[0].headers['X-Access-Id']}")
    assert (first["charge"]["amount"], first["rateLimit"]["remaining"]) == (0.25, 1)
