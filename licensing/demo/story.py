"""The demo's data: an invented magazine with policies, items and customers."""

import csv
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

PUBLISHER = "The Saltmarsh Review (demo)"
SITE = "https://saltmarsh.example"
SHOWN = "herring-quota"  # the item in the curl command

OPEN = "open"
LICENSED = "licensed"
EMBARGOED = "embargoed"
CRAWLERS_PAY = "crawlers_pay"
SITE_PAGES = 120  # of the archive, which has no items


def policy_bodies(embargo_ends: date) -> dict[str, dict[str, object]]:
    """Return the policies as request bodies, by the names in the items' column `policy`."""
    contact = "Write to licensing@saltmarsh.example."
    return {
        OPEN: {
            "name": "Open to everybody",
            "description": "Free to read; anything else needs a licence.",
            "rules": [
                {
                    "action": "allow",
                    "conditions": {"licenseType": "enterprise"},
                    "permissions": ["full_access"],
                    "priority": 1,
                },
                {"action": "allow", "conditions": {"default": True}, "permissions": ["read"], "priority": 99},
            ],
            "defaultAction": "allow",
            "tests": [
                {
                    "name": "Anybody reads",
                    "requester": {"id": "reader_0417"},
                    "permission": "read",
                    "expect": {"allowed": True},
                },
                {
                    "name": "Nobody mines text without a licence",
                    "requester": {"id": "bot_gleaner"},
                    "permission": "text_mining",
                    "expect": {"allowed": False, "reason": "permission_not_granted"},
                },
            ],
        },
        CRAWLERS_PAY: {
            "name": "Crawlers pay",
            "description": "People and search engines read; AI training and answers cost USD 0.015 for each page.",
            "rules": [
                {
                    "action": "allow",
                    "priority": 1,
                    "conditions": {"permission": ["read", "search"]},
                    "permissions": ["read", "search"],
                },
                {
                    "action": "allow",
                    "priority": 2,
                    "conditions": {"permission": ["ai_training", "ai_input"], "licenseType": "ai"},
                    "permissions": ["ai_training", "ai_input"],
                    "pricePerAccess": {"amount": "0.015", "currency": "USD"},
                },
            ],
            "defaultAction": "deny",
            "tests": [
                {
                    "name": "Search engines index",
                    "requester": {"id": "crawler:googlebot"},
                    "permission": "search",
                    "expect": {"allowed": True, "matchedRule": 0},
                },
                {
                    "name": "Nobody trains without a licence or a payment",
                    "requester": {"id": "crawler:gptbot"},
                    "permission": "ai_training",
                    "expect": {"allowed": False, "reason": "no_license"},
                },
            ],
        },
        LICENSED: {
            "name": "Licensed tiers",
            "description": "Enterprise without limit, commercial and academic use within an hourly one.",
            "rules": [
                {
                    "action": "allow",
                    "priority": 1,
                    "conditions": {"licenseType": "enterprise", "hasValidLicense": True},
                    "permissions": ["full_access"],
                },
                {
                    "action": "allow",
                    "priority": 2,
                    "conditions": {"licenseType": "commercial", "hasValidLicense": True},
                    "permissions": ["read", "commercial_use"],
                    "rateLimit": {"requests": 100, "period": "hour"},
                },
                {
                    "action": "allow",
                    "priority": 3,
                    "conditions": {"licenseType": "academic", "hasValidLicense": True},
                    "permissions": ["read", "text_mining"],
                    "rateLimit": {"requests": 5, "period": "hour"},
                },
                {
                    "action": "deny",
                    "priority": 99,
                    "conditions": {"default": True},
                    "message": f"A licence is required. {contact}",
                },
            ],
            "defaultAction": "deny",
            "tests": [
                {
                    "name": "Commercial customers use it commercially",
                    "requester": {"id": "org_fenwick", "licenses": [{"licenseType": "commercial"}]},
                    "permission": "commercial_use",
                    "expect": {"allowed": True, "matchedRule": 1},
                },
                {
                    "name": "Researchers do not use it commercially",
                    "requester": {"id": "uni_tidewater", "licenses": [{"licenseType": "academic"}]},
                    "permission": "commercial_use",
                    "expect": {"allowed": False, "reason": "permission_not_granted"},
                },
                {
                    "name": "Whoever has no licence is told whom to ask",
                    "requester": {"id": "reader_0417"},
                    "expect": {"allowed": False, "reason": "no_license", "matchedRule": 3},
                },
            ],
        },
        EMBARGOED: {
            "name": "Under embargo",
            "description": "For the press in advance; for enterprise customers once the embargo has ended.",
            "rules": [
                {
                    "action": "allow",
                    "priority": 1,
                    "conditions": {"licenseType": "press", "hasValidLicense": True},
                    "permissions": ["read"],
                },
                {
                    "action": "deny",
                    "priority": 2,
                    "conditions": {"before": embargo_ends.isoformat()},
                    "message": f"Under embargo until {embargo_ends.isoformat()}. {contact}",
                },
                {
                    "action": "allow",
                    "priority": 3,
                    "conditions": {"licenseType": "enterprise", "hasValidLicense": True},
                    "permissions": ["full_access"],
                },
            ],
            "defaultAction": "deny",
            "tests": [
                {
                    "name": "The press reads in advance",
                    "requester": {"id": "press_brackwater", "licenseType": "press", "hasValidLicense": True},
                    "permission": "read",
                    "at": (embargo_ends - timedelta(days=1)).isoformat(),
                    "expect": {"allowed": True},
                },
                {
                    "name": "Enterprise customers wait for the end of the embargo",
                    "requester": {"id": "org_larkspur", "licenses": [{"licenseType": "enterprise"}]},
                    "at": (embargo_ends - timedelta(days=1)).isoformat(),
                    "expect": {"allowed": False, "reason": "policy_denied", "matchedRule": 1},
                },
                {
                    "name": "Then they read it",
                    "requester": {"id": "org_larkspur", "licenses": [{"licenseType": "enterprise"}]},
                    "at": embargo_ends.isoformat(),
                    "expect": {"allowed": True, "matchedRule": 2},
                },
            ],
        },
    }


def read_items() -> tuple[dict[str, str], ...]:
    """Read the items from items.csv. `age` is in days at the demo's start; negative ages lie after it."""
    with (Path(__file__).parent / "items.csv").open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


class Customer(NamedTuple):
    """A customer of the demo: `weight` is the relative frequency of visits, `burst` the most items per visit."""

    id: str
    name: str | None
    weight: int
    burst: int
    permissions: tuple[str | None, ...]  # requested permissions; None is a plain check
    user_agent: str
    vouched: str | None = None  # licence type stated by the publisher's own site


CUSTOMERS = (
    Customer("org_larkspur", "Larkspur Analytics", 6, 5, ("commercial_use", None), "larkspur-sync/4.2"),
    Customer("org_fenwick", "Fenwick & Lowe", 5, 3, ("read", "commercial_use"), "fenwick-reader/1.9"),
    Customer("org_hedgerow", "Hedgerow AI", 4, 8, ("commercial_use", "text_mining"), "HedgerowBot/0.7"),
    Customer("uni_tidewater", "Tidewater University", 4, 14, ("read", "text_mining"), "ezproxy/7.3"),
    Customer("press_brackwater", "Brackwater Daily", 3, 2, ("read",), "Mozilla/5.0", "press"),
    Customer("bot_gleaner", "GleanerBot", 6, 4, (None, "text_mining"), "GleanerBot/2.1"),
    Customer("reader_0417", None, 5, 1, ("read",), "Mozilla/5.0"),
    Customer("reader_2203", None, 4, 1, ("read",), "Mozilla/5.0"),
)


class Prepaid(NamedTuple):
    """A customer that paid in advance when the demo began, and has made `checks` evenly since."""

    id: str
    name: str
    unit: str  # of the wallet
    granted: str
    paid: tuple[str, str]  # amount and currency
    checks: int
    low_percent: int  # at which the wallet counts as low


PREPAID = (
    Prepaid("org_curlew", "Curlew Briefings", "USD", "40", ("40", "USD"), 120, 20),
    Prepaid("org_moorhen", "Moorhen Monitor", "access", "250", ("75", "EUR"), 240, 10),  # nearly used up
)


# Choices of the front page's live check, with descriptions. The first is the default.
SHOWN_CUSTOMERS = {
    "org_fenwick": "a law firm that pays for each access",
    "org_larkspur": "an analyst with an enterprise licence",
    "uni_tidewater": "a university",
    "press_brackwater": "a newspaper, vouched for by the site",
    "org_moorhen": "a monitor that has nearly used up what it paid for in advance",
    "bot_gleaner": "a crawler whose licence has lapsed",
    "reader_0417": "a reader without a licence",
}
SHOWN_ITEMS = {
    SHOWN: "for customers with a licence",
    "last-ferry": "open to everybody",
    "harbour-budget": "first under embargo, then for a few",
    "old-ropewalk": "archived",
}


class Term(NamedTuple):
    """A licence: its start and end as fractions of the demo's time (1 is now) and its prices."""

    requester_id: str
    license_type: str
    begin: float
    end: float | None
    price: tuple[str, str] | None = None  # amount and currency
    per_access: tuple[str, str] | None = None
    tags: tuple[str, ...] = ()


TERMS = (
    Term("org_larkspur", "enterprise", 0.0, 0.5, ("18000", "EUR")),
    Term("org_larkspur", "enterprise", 0.5, 1.5, ("19500", "EUR")),
    Term("org_fenwick", "commercial", 0.05, None, ("1200", "GBP"), ("0.35", "GBP")),
    Term("org_hedgerow", "commercial", 0.1, 0.85, None, ("0.02", "USD")),
    Term("uni_tidewater", "academic", 0.0, 1.02, ("2400", "USD")),  # about to expire
    Term("org_curlew", "commercial", 0.0, None, None, ("0.05", "USD")),
    Term("org_moorhen", "commercial", 0.0, None),
    Term("bot_gleaner", "commercial", 0.7, 0.9, None, ("0.015", "USD"), ("Photography",)),
)
# Invented prices of a euro; the ECB's rates replace them (manage.py import_exchange_rates).
RATES = {"USD": 1.09, "GBP": 0.85}


class ItemFile(NamedTuple):
    """A kind of item file, recognised by its columns: their mapping to fields and common field values."""

    columns: dict[str, str]
    defaults: dict[str, str]
    policy: str


ITEM_FILES = (
    ItemFile(
        {"externalId": "acno", "title": "title", "source": "url", "metadata.author": "artist"}
        | {"metadata.medium": "medium", "tags": "subjects"},
        {"type": "image"},
        LICENSED,
    ),
    ItemFile(
        {"externalId": "article_url", "source": "article_url", "title": "subfolder_name"}
        | {"metadata.dataset": "dataset_url"},
        {"type": "article"},
        OPEN,
    ),
)
