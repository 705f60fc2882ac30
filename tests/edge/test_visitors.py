import pytest

from accounts.keys.services import revoke_api_key
from accounts.models import ApiKey
from analytics.models import LedgerEntry
from tests import factories
from tests.edge.asking import LICENSED, READERS, event, told

GPTBOT = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)"


@pytest.fixture
def crawlers(crawler_table):
    """A table with GPTBot at 198.51.100.0/24 and a search engine at 192.0.2.0/24."""
    crawler_table(
        {"name": "GPTBot", "class": "ai_training", "operator": "OpenAI", "userAgent": "GPTBot",
         "addresses": ["198.51.100.0/24"]},
        {"name": "Seeker", "class": "search", "operator": "Seeker", "userAgent": "Seeker",
         "addresses": ["192.0.2.0/24"]},
    )  # fmt: skip


def test_a_crawler_is_known_by_its_address_and_not_by_its_name(ask, account, site, crawlers):
    site(LICENSED, factories.DENY_ALL)
    factories.license(account, "crawler:gptbot")
    reply = ask("/premium/a", user_agent=GPTBOT, x_forwarded_for="198.51.100.7")
    assert (reply.status, reply.headers["X-Access-Requester"]) == (200, "crawler:gptbot")
    assert event(reply).permission == "ai_training"
    assert event(reply).facts["identifiedBy"] == "address"
    reply = ask("/premium/a", user_agent=GPTBOT)
    assert (reply.status, reply.headers["X-Access-Requester"]) == (402, "unverified:gptbot")


def test_a_user_agent_alone_is_held_to_its_class_and_gains_nothing(ask, site, crawlers):
    site(READERS)
    assert ask("/premium/a").status == 200
    reply = ask("/premium/a", user_agent=GPTBOT)
    assert (reply.status, event(reply).permission) == (403, "ai_training")
    site({"action": "allow", "conditions": {"default": True}, "permissions": ["search"]})
    assert ask("/premium/a", user_agent="Seeker/1.0", x_forwarded_for="192.0.2.1").status == 200
    reply = ask("/premium/a", user_agent="Seeker/1.0")
    assert told(reply) == (403, "deny", "permission_not_granted")
    assert event(reply).permission == "read"


def test_a_key_of_the_account_names_its_requester(ask, site, other_account, account):
    site(READERS)
    reply = ask("/premium/a", authorization=f"Bearer {factories.key_text(other_account)}")
    assert reply.headers["X-Access-Requester"] == "anonymous"
    site(LICENSED, factories.DENY_ALL)
    own, text = factories.api_key(account, name="Acme", permissions=[])
    factories.license(account, own.pk)
    reply = ask("/premium/a", authorization=f"Bearer {text}")
    assert (reply.status, reply.headers["X-Access-Requester"]) == (200, own.pk)
    revoke_api_key(ApiKey.objects.get(pk=own.pk))
    again = ask("/premium/a", authorization=f"Bearer {text}")
    assert (again.status, again.headers["X-Access-Requester"]) == (402, "anonymous")


def test_the_visitors_address_is_a_fact(ask, site):
    site({**READERS, "priority": 1, "conditions": {"ip": "203.0.113.0/24"}}, factories.DENY_ALL)
    assert ask("/premium/a").status == 200
    assert ask("/premium/a", x_forwarded_for="198.51.100.1").status == 403
    assert ask("/premium/a", x_forwarded_for=None).status == 403


@pytest.mark.parametrize(
    ("method", "charged"), [("GET", 1), ("POST", 1), ("HEAD", 0), ("OPTIONS", 1), ("head", 1), ("FETCH", 1)]
)
def test_only_head_is_free_as_the_forwarded_method_or_that_of_the_request(ask, account, site, method, charged):
    site(LICENSED)
    own, text = factories.api_key(account)
    factories.license(account, own.pk, per_access="0.05")
    assert ask("/premium/a", method="HEAD", authorization=f"Bearer {text}").status == 200
    assert not LedgerEntry.objects.exists()
    assert ask("/premium/a", x_forwarded_method=method, authorization=f"Bearer {text}").status == 200
    assert LedgerEntry.objects.count() == charged
