"""Random sites and policies, as rules and items."""

from kit.values.canonical_pages import RegisteredPage
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


USES = ["search", "ai_index", "ai_input", "ai_training"]
CONDITIONS = [
    *[{"default": True}] * 6,
    {"hasValidLicense": True},
    {"hasValidLicense": False},
    {"licenseType": "press", "hasValidLicense": True},
    {"ip": "203.0.113.0/24"},
    {"requesterId": "anonymous"},
    {"after": "2026-01-01"},
    {"schedule": {"from": "00:00", "to": "11:59", "timeZone": "UTC"}},
]


def random_rules(chosen):
    """Return up to four rules of a policy, as the API takes them."""
    return [random_rule(chosen) for _ in range(chosen.randint(1, 4))]


def random_rule(chosen):
    conditions = dict(chosen.choice(CONDITIONS))
    if chosen.random() < 0.3:
        conditions.pop("default", None)
        conditions["permission"] = chosen.sample(["read", *USES], chosen.randint(1, 3))
    rule = {"action": chosen.choice(["allow", "allow", "allow", "deny"]), "conditions": conditions}
    if rule["action"] == "deny":
        return rule
    rule["permissions"] = chosen.choice([["full_access"], ["full_access"], chosen.sample(["read", *USES], 3)])
    if chosen.random() < 0.2:
        rule["pricePerAccess"] = {"amount": chosen.choice(["0.01", "0.015"]), "currency": "USD"}
    if chosen.random() < 0.1:
        rule["rateLimit"] = {"requests": 1, "period": "day"}
    return rule
