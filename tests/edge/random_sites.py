"""Random sites, as rules and items."""

from kit.values.pages import RegisteredPage
from licensing.edge.publishing.terms import Item
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.rules import parse_rules
from tests import factories

SITE = "https://pub.example"


def policy(*rules):
    return CompiledPolicy.of("pol_x", 1, "deny", parse_rules(rules))


SEARCH = {"action": "allow", "conditions": {"default": True}, "permissions": ["read", "search"]}
TRAIN = {"action": "allow", "conditions": {"default": True}, "permissions": ["read", "ai_training"]}
POLICIES = [policy(factories.ALLOW_ALL), policy(SEARCH), policy(TRAIN), policy(factories.DENY_ALL), None]
PATHS = ["/", "/about", "/about/", "/about/team", "/premium/", "/premium/x", "/premium/x/y", "/news/a.pdf", "/a.pdf/b",
         "/news/x", "/n", "/news", "/pr"]  # fmt: skip
PATTERNS = ["/", "/*", "/$", "/about$", "/about/", "/about/$", "/premium/", "/premium", "/premium/x$", "/*.pdf$",
            "/*.pdf", "/*/x", "/*/x$", "/news/*", "/*e*s/*", "/n", "/pr*x"]  # fmt: skip
TARGETS = [f"{path}{query}" for path in PATHS for query in ("", "?id=5", "?x=1", "?id=5&x=.pdf")]


def random_site(chosen):
    patterns = chosen.sample(PATTERNS, chosen.randint(0, 6))
    rules = {pattern.removesuffix("*"): (pattern, chosen.choice(POLICIES)) for pattern in patterns}
    items = []
    for path in chosen.sample(PATHS, chosen.choice([0, 0, 1, 3])):
        url = f"{SITE}{path}{chosen.choice(['', '', '?id=5'])}"
        items.append(Item(url, RegisteredPage.from_url(url, None), chosen.choice(POLICIES)))
    return list(rules.values()), items, chosen.random() < 0.5
