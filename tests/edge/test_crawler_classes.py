import json

import pytest

from tests import factories
from tests.documentation.blocks import block
from tests.edge.asking import READERS, event, told

ADDRESS = "192.0.2.1"
REST = {**factories.DENY_ALL, "priority": 9}


def allow(permission, **conditions):
    wanted = conditions or {"permission": permission}
    return {"action": "allow", "priority": 2, "conditions": wanted, "permissions": [permission]}


@pytest.fixture
def crawlers(crawler_table):
    rows = [
        {"name": f"{name}Bot", "class": name, "operator": "O", "userAgent": f"{name}Bot",
         "addresses": ["192.0.2.0/24"]}
        for name in ("ai_index", "ai_input", "preview", "ads")
    ]  # fmt: skip
    crawler_table(*rows)


@pytest.fixture
def visit(ask, crawlers):
    def visit(name, *, is_verified=True, **headers):
        address = ADDRESS if is_verified else "203.0.113.9"
        return ask("/premium/a", user_agent=f"{name}Bot/1.0", x_forwarded_for=address, **headers)

    return visit


def test_an_index_gets_and_pays_what_answers_do_where_no_rule_names_indexes(visit, site):
    site(allow("ai_input"), REST)
    assert told(visit("ai_index")) == told(visit("ai_input")) == (200, "allow", None)
    assert event(visit("ai_index")).permission == "ai_index"
    refused = {"action": "deny", "priority": 1, "conditions": {"permission": "ai_input"}}
    site(refused, factories.ALLOW_ALL)
    assert told(visit("ai_index")) == told(visit("ai_input")) == (403, "deny", "policy_denied")
    site({**allow("ai_input"), "pricePerAccess": {"amount": "0.015", "currency": "USD"}}, REST)
    refused = visit("ai_index")
    assert (told(refused), refused.headers["crawler-price"]) == ((402, "deny", "no_license"), "USD 0.015")
    assert told(visit("ai_index", crawler_exact_price="USD 0.015")) == (200, "allow", None)
    price = {"pricePerAccess": {"amount": "0.015", "currency": "USD"}}
    site({**allow("ai_input", hasValidLicense=True), **price}, REST)
    assert visit("ai_index").headers["crawler-price"] == "USD 0.015"
    paid = visit("ai_index", crawler_max_price="USD 0.05")
    assert (paid.status, paid.headers["crawler-charged"]) == (200, "USD 0.015")
    assert event(paid).permission == "ai_index"
    site(allow("ai_index"), REST)
    assert told(visit("ai_index")) == (200, "allow", None)
    assert told(visit("ai_input")) == (403, "deny", "policy_denied")


def test_previews_and_ads_read_only_what_everybody_reads_unless_a_rule_names_them(visit, site, ask):
    for name in ["preview", "ads"]:
        for is_verified in [True, False]:
            site(READERS)
            assert told(visit(name, is_verified=is_verified)) == (200, "allow", None)
    for name in ["preview", "ads"]:
        site(allow("search"), REST)
        for is_verified in (True, False):
            assert told(visit(name, is_verified=is_verified)) == (403, "deny", "policy_denied")
    for name in ["preview", "ads"]:
        for is_verified in [True, False]:
            site(allow(name), REST)
            assert told(visit(name, is_verified=is_verified)) == (200, "allow", None)
            assert told(ask("/premium/a")) == (403, "deny", "policy_denied")
            assert told(visit("ai_input")) == (403, "deny", "policy_denied")
    for name in ["preview", "ads"]:
        site(allow("read", requesterId=[f"unverified:{name}bot", "unverified:ai_inputbot"]), REST)
        assert told(visit(name, is_verified=False)) == (200, "allow", None)
        assert told(visit("ai_input", is_verified=False)) == (403, "deny", "permission_not_granted")


def test_a_claim_gains_nothing_from_rules_for_others(visit, site):
    site(allow("preview", hasValidLicense=True), {**READERS, "conditions": {"permission": "read"}})
    assert told(visit("preview", is_verified=False)) == (402, "deny", "no_license")
    site(allow("ai_index"), allow("ai_input"), REST)
    for name in ("ai_index", "ai_input"):
        assert told(visit(name, is_verified=False)) == (403, "deny", "policy_denied")


REFERENCE = "docs/reference/edge.md"


def test_the_rules_of_the_reference_admit_link_previews(ask, site):
    for number in [0, 1]:
        rule = json.loads(block(REFERENCE, '{"action"').splitlines()[number])
        site(rule, REST)
        assert told(ask("/premium/a", user_agent="Slackbot 1.0 (+https://api.slack.com/robots)")) == (
            200,
            "allow",
            None,
        )
        assert told(ask("/premium/a")) == (403, "deny", "policy_denied"), number
