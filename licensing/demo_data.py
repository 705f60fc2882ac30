"""What the demo account holds: an invented magazine, its policies, its items and those who ask for them."""

import csv
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

PUBLISHER = "The Saltmarsh Review (demo)"
SITE = "https://saltmarsh.example"
SHOWN = "herring-quota"  # the item of the curl line

OPEN, LICENSED, EMBARGOED = "open", "licensed", "embargoed"


def policies(embargo_ends: date) -> dict[str, dict[str, Any]]:
    """The policies as requests would send them, by the names that the items' column `policy` uses."""
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
        },
    }


def read_items() -> tuple[dict[str, str], ...]:
    """The items as rows. `age` is in days at the demo's beginning; what is negative comes after."""
    with (Path(__file__).parent / "demo_items.csv").open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


class Customer(NamedTuple):
    """Somebody who asks for items: `weight` is how often, `burst` how many items at a time at most."""

    id: str
    name: str | None
    license_type: str | None
    weight: int
    burst: int
    permissions: tuple[str | None, ...]  # what is asked for; None is a plain check
    user_agent: str


CUSTOMERS = (
    Customer("org_larkspur", "Larkspur Analytics", "enterprise", 6, 5, ("commercial_use", None), "larkspur-sync/4.2"),
    Customer("org_fenwick", "Fenwick & Lowe", "commercial", 5, 3, ("read", "commercial_use"), "fenwick-reader/1.9"),
    Customer("org_hedgerow", "Hedgerow AI", "commercial", 4, 8, ("commercial_use", "text_mining"), "HedgerowBot/0.7"),
    Customer("uni_tidewater", "Tidewater University", "academic", 4, 14, ("read", "text_mining"), "ezproxy/7.3"),
    Customer("press_brackwater", "Brackwater Daily", "press", 3, 2, ("read",), "Mozilla/5.0"),
    Customer("bot_gleaner", "GleanerBot", None, 6, 4, (None, "text_mining"), "GleanerBot/2.1"),
    Customer("reader_0417", None, None, 5, 1, ("read",), "Mozilla/5.0"),
    Customer("reader_2203", None, None, 4, 1, ("read",), "Mozilla/5.0"),
)
