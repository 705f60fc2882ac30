"""The publisher before the first day: policies, a site of thirty pages, items and customers."""

import os
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from tests.examples import ALL

HOST = "pub.example"
ZONE = ZoneInfo("Europe/Berlin")  # of its months
CAMPUS = "127.0.7.0/24"  # whose readers get what licensees get
CRAWLER_NETWORKS = {"GPTBot": "127.0.9.0/28", "PerplexityBot": "127.0.9.16/28"}  # as their operators publish them
FORMER, KEPT = "org_soylent_old", "org_soylent"  # two records of one customer, which are merged
ADA = "reader:ada/lovelace@example.org"  # a reader whose data is erased
# The whole month fills several chunks of every export. The short one skips days, and has fewer of everything.
IS_WHOLE = ALL or os.environ.get("WORLD") == "whole"
# Berlin's clocks change on the 28th of either month. The rehearsal begins in its middle, on a Monday.
MONTH = os.environ.get("WORLD_MONTH") or ("2029-10" if IS_WHOLE else "2027-03")
BEGINS = datetime.fromisoformat(f"{MONTH}-15T08:00:00+00:00")
EMBARGO_ENDS = f"{date(BEGINS.year, BEGINS.month + 1, 1)}T00:00:00Z"
ITEMS, SMALL_POLICIES, PARKED_SITES = (1_500, 510, 260) if IS_WHOLE else (300, 10, 10)
SUBSCRIBERS = 520 if IS_WHOLE else 40  # with a licence each
SYNCHRONISED = 200 if IS_WHOLE else 20  # licences of the billing system
SUBSCRIPTIONS_PAID_A_DAY = 17 if IS_WHOLE else 2
PAGES_ITEMS = 40  # the items that most questions are about

READERS = {"action": "allow", "conditions": {"default": True}, "permissions": ["read", "search"]}
NOBODY = {"action": "deny", "priority": 99, "conditions": {"default": True}, "message": "A licence is needed."}
LICENSED = {
    "action": "allow",
    "priority": 1,
    "conditions": {"licenseType": ["commercial", "enterprise"], "hasValidLicense": True},
    "permissions": ["full_access"],
}
ON_CAMPUS = {"action": "allow", "priority": 2, "conditions": {"ip": CAMPUS}, "permissions": ["read"]}
OFFERED = {
    "action": "allow",
    "priority": 3,
    "conditions": {"licenseType": "payg"},
    "permissions": ["read", "ai_input"],
    "pricePerAccess": {"amount": "0.015", "currency": "USD"},
}
FOR_TRAINING = {
    "action": "allow",
    "priority": 1,
    "conditions": {"permission": "ai_training", "licenseType": "ai", "hasValidLicense": True},
    "permissions": ["ai_training"],
}
FOR_PEOPLE = {
    "action": "allow",
    "priority": 5,
    "conditions": {"permission": ["read", "search"]},
    "permissions": ["read", "search"],
}
LIMITED = {**LICENSED, "rateLimit": {"requests": 12, "period": "day"}}
METERED = {
    "action": "allow",
    "priority": 5,
    "conditions": {"default": True},
    "permissions": ["read"],
    "rateLimit": {"requests": 25, "period": "day"},
}
EMBARGO = {
    "action": "deny",
    "priority": 0,
    "conditions": {"before": EMBARGO_ENDS},
    "message": "Not before next month.",
}

# By name: the body of the policy.
POLICIES: dict[str, dict[str, Any]] = {
    "open": {"rules": [READERS]},
    "premium": {"rules": [LICENSED, ON_CAMPUS, OFFERED, NOBODY]},
    "training": {"rules": [FOR_TRAINING, FOR_PEOPLE, NOBODY]},
    "metered": {"rules": [LICENSED, METERED]},
    "limited": {"rules": [LIMITED, NOBODY]},
    "embargo": {"rules": [EMBARGO, LICENSED, NOBODY]},
    "changing": {"rules": [LICENSED, NOBODY]},
    "observed": {"rules": [LICENSED, NOBODY], "mode": "observe"},
    "permissive": {"rules": [], "defaultAction": "allow"},
}
TYPES = ("article", "report", "image", "dataset", "video")
TAGS = ("news", "reports", "data", "markets")
OF_ITEMS = tuple(POLICIES)  # item 7 has the policy after that of item 6, and so on
PATTERNS = {  # of the site
    "/premium/": "premium",
    "/metered/": "metered",
    "/training/": "training",
    "/watched/": "observed",
    "/premium/free-sample": None,  # an exception: unknown, and so allowed
}


@dataclass(frozen=True)
class Page:
    """A page of the site; `item` is set if its URL is registered."""

    path: str
    item: str | None = None


def external_id(number: int) -> str:
    return f"item-{number:04}"


def pages() -> list[Page]:
    """Return thirty pages: in folders covered by patterns and beside them, each with some items."""
    folders = ("/premium/", "/metered/", "/training/", "/watched/", "/news/")
    found = [Page("/"), Page("/about"), Page("/premium/free-sample"), Page("/robots.txt"), Page("/contact")]
    for place, folder in enumerate(folders):
        # Item 0 is "open", 1 "premium" and so on: an item's own policy wins over its folder's pattern.
        found += [Page(f"{folder}story-{n}", external_id(place * 2 + n) if n < 2 else None) for n in range(5)]
    return found


PAGES = pages()
SOURCES = {page.item: page.path for page in PAGES if page.item}


def item_body(number: int) -> dict[str, Any]:
    name = external_id(number)
    return {
        "externalId": name,
        "title": f"Story {number:04}",
        "type": TYPES[number % len(TYPES)],
        "tags": [TAGS[number % len(TAGS)], *(["=formula"] if number % 50 == 0 else [])],
        "source": f"http://{HOST}{SOURCES[name]}" if name in SOURCES else f"https://media.{HOST}/{number}",
        "metadata": {"category": "markets" if number % 3 else "politics", "wordCount": number},
    }


def item_policy(number: int) -> str:
    return OF_ITEMS[number % len(OF_ITEMS)]


def small_policy(number: int) -> str:
    return f"Section {number:03}"


def subscriber(number: int) -> str:
    return f"sub-{number:03}"
