"""What the demo account holds: an invented magazine, its policies, its items and those who ask for them."""

from datetime import date
from typing import Any, NamedTuple

PUBLISHER = "The Saltmarsh Review (demo)"
SITE = "https://saltmarsh.example"

OPEN, LICENSED, EMBARGOED = "open", "licensed", "embargoed"


def policies(embargo_ends: date) -> dict[str, dict[str, Any]]:
    """The policies as requests would send them, by the names that the items use."""
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
                    "rateLimit": {"requests": 10, "period": "hour"},
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


class Item(NamedTuple):
    """`age` is in days before the demo begins; a negative one is after."""

    external_id: str
    type: str
    policy: str | None
    title: str
    author: str
    category: str
    tags: str
    age: int
    words: int | None = None
    status: str = "active"

    def body(self, published: date) -> dict[str, Any]:
        """The item as a request would send it."""
        metadata = {"author": self.author, "category": self.category, "publishedAt": published.isoformat()}
        return {
            "externalId": self.external_id,
            "title": self.title,
            "type": self.type,
            "source": f"{SITE}/{self.type}s/{self.external_id}",
            "metadata": metadata | ({"wordCount": self.words} if self.words else {}),
            "tags": self.tags.split(),
            "status": self.status,
        }


SHOWN = "herring-quota"  # the item of the curl line

# fmt: off
ITEMS = (
    Item("herring-quota", "article", LICENSED, "Who Counts the Herring?", "Ottilie Brandt", "Fisheries", "sea quotas investigation", 3, 4210),
    Item("last-ferry", "article", OPEN, "The Last Ferry to Skarholm", "Jun Halloran", "Places", "islands transport", 5, 2980),
    Item("tide-tables", "article", OPEN, "A Short History of the Tide Table", "Perpetua Okonjo", "History", "tides instruments", 8, 1875),
    Item("eel-smugglers", "article", LICENSED, "The Eel Smugglers of the Lower Wend", "Ottilie Brandt", "Crime", "rivers trade investigation", 12, 6120),
    Item("salt-and-slate", "article", LICENSED, "Salt, Slate and the Price of a Roof", "Dagny Farrow", "Economy", "building trade", 15, 3340),
    Item("lighthouse-keepers", "article", OPEN, "What the Lighthouse Keepers Wrote Down", "Jun Halloran", "History", "archives weather", 21, 2450),
    Item("peat-fires", "article", LICENSED, "Fires That Burn All Winter", "Perpetua Okonjo", "Climate", "peat carbon", 26, 3890),
    Item("oyster-lawsuit", "article", LICENSED, "An Oyster Bed Goes to Court", "Dagny Farrow", "Law", "oysters property", 33, 2715),
    Item("map-of-mud", "article", OPEN, "How to Draw a Map of Mud", "Ines Caldwell", "Science", "surveying tides", 40, 1990),
    Item("harbour-budget", "article", EMBARGOED, "The Harbour Budget Nobody Read", "Ottilie Brandt", "Economy", "ports investigation", -14, 5105),
    Item("swift-count", "article", OPEN, "Counting Swifts from a Car Park", "Ines Caldwell", "Nature", "birds surveys", 52, 1420),
    Item("old-ropewalk", "article", LICENSED, "The Ropewalk, Before and After", "Jun Halloran", "Places", "industry restoration", 70, 2260, "archived"),
    Item("coastal-outlook", "report", LICENSED, "Coastal Economy Outlook", "Saltmarsh Research", "Economy", "forecast ports tourism", 10, 18400),
    Item("flood-insurance", "report", LICENSED, "Flood Insurance in Nine Estuaries", "Saltmarsh Research", "Climate", "insurance floods", 29, 22750),
    Item("offshore-labour", "report", EMBARGOED, "Labour Offshore: Contracts and Hours", "Saltmarsh Research", "Economy", "work wind", -14, 15900),
    Item("seaweed-market", "report", LICENSED, "The Seaweed Market to 2035", "Saltmarsh Research", "Economy", "food forecast", 48, 12300),
    Item("bridge-survey", "report", OPEN, "Small Bridges: A Condition Survey", "Ines Caldwell", "Engineering", "transport surveys", 61, 9800),
    Item("img-dawn-fleet", "image", LICENSED, "The Fleet Leaves at Dawn", "Marit Solange", "Photography", "boats harbour", 4),
    Item("img-wrack-line", "image", OPEN, "Wrack Line, After the Storm", "Marit Solange", "Photography", "beach weather", 9),
    Item("img-net-menders", "image", LICENSED, "Net Menders, Wendmouth", "Teo Albright", "Photography", "portraits work", 18),
    Item("img-ice-harbour", "image", LICENSED, "The Harbour under Ice, Seen from the Crane", "Teo Albright", "Photography", "harbour winter", 37),
    Item("img-archive-regatta", "image", None, "Regatta (scan from the archive, rights unclear)", "Unknown", "Photography", "archives", 80),
    Item("data-landings", "dataset", LICENSED, "Fish Landings by Port and Month", "Saltmarsh Data Desk", "Fisheries", "ports statistics", 6),
    Item("data-tide-gauges", "dataset", OPEN, "Hourly Tide Gauges, Twelve Stations", "Saltmarsh Data Desk", "Science", "tides instruments", 20),
    Item("data-berth-fees", "dataset", LICENSED, "Berth Fees in Forty Harbours", "Saltmarsh Data Desk", "Economy", "ports prices", 35),
    Item("data-harbour-ledger", "dataset", EMBARGOED, "The Harbour Ledger, Line by Line", "Saltmarsh Data Desk", "Economy", "ports investigation", -14),
    Item("vid-night-pilot", "video", LICENSED, "Night Pilot: Eight Hours on the Bar", "Marit Solange", "Documentary", "boats work", 11),
    Item("vid-mudlarks", "video", OPEN, "The Mudlarks", "Teo Albright", "Documentary", "rivers archaeology", 24),
    Item("vid-wind-farm", "video", LICENSED, "Inside the Nacelle", "Dagny Farrow", "Documentary", "wind engineering", 44),
    Item("vid-old-trailer", "video", LICENSED, "Trailer: The Long Ebb (superseded)", "Marit Solange", "Documentary", "trailer", 90, None, "archived"),
)
# fmt: on


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
