"""The faults of the service, the fronts before it, and what visitors get meanwhile.

The docs print this table (docs/reference/edge.md), and test_outages.py runs it with every fault and front.
"""

from typing import NamedTuple

FAULTS = ["stopped for a restart", "upgraded", "killed", "stalled", "database stopped", "disk full"]
FRONTS = ["nginx", "caddy", "traefik", "envoy", "workerd", "wordpress", "python", "typescript"]

OBSERVING, ENFORCING = "observes", "enforces"
PAGES = {
    "open": "everybody may read it",
    "metered": "people may read it until a limit ends that",
    "licensed": "needs a licence",
}
READER, CRAWLER = "a reader", "GPTBot"


class Row(NamedTuple):
    """Whether a visitor gets a page while the service is away, by the kind of page; None where fronts differ."""

    site: str
    visitor: str
    open: bool | None
    metered: bool | None
    licensed: bool


TABLE = [
    Row(OBSERVING, READER, open=True, metered=True, licensed=True),
    Row(OBSERVING, CRAWLER, open=True, metered=True, licensed=True),
    Row(ENFORCING, READER, open=True, metered=True, licensed=False),
    Row(ENFORCING, CRAWLER, open=None, metered=None, licensed=False),  # by the file generated for the site: refused
]
