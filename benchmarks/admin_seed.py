"""The first rows of benchmarks.admin_pages, created through the API, and how many copies of them there are."""

from dataclasses import asdict, dataclass

from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, LICENSED, UNLICENSED, Installation


@dataclass(frozen=True)
class Sizes:
    events: int = 200_000
    hours: int = 24  # of the decisions, until now
    items: int = 20_000
    requesters: int = 5_000
    licenses: int = 5_000
    entries: int = 20_000  # of the ledger, this month
    changes: int = 50_000  # in the audit log
    policies: int = 200
    keys: int = 500  # and as many clients of the licence server
    sites: int = 50  # and as many webhook endpoints
    pages: int = 1_000  # visited at the edge, by each of some crawlers, on each of some days
    days: int = 30  # of visits


def seed(made: Installation, sizes: Sizes) -> None:
    """Create one row of each kind through the API, and the sites, each with an item of its own behind it."""
    policy = made.policy(ALLOW_LICENSED, DENY_ALL)
    [item] = made.items(policy)
    made.expect_decisions(item, LICENSED, UNLICENSED)
    terms = {"requesterId": "org_acme", "licenseType": "editorial", "price": {"amount": "10", "currency": "EUR"}}
    made.post("/v1/licenses", terms)
    made.post("/v1/license-clients", {"requesterId": "org_acme", "name": "Crawler"})
    for number in range(sizes.sites):
        rules = [{"pattern": "/a/*", "policyId": policy}]
        made.post("/v1/sites", {"host": f"site-{number}.example", "mode": "enforce", "rules": rules})
    made.post("/v1/webhooks", {"url": "https://hooks.example/in"})


def code_to_fill(sizes: Sizes) -> str:
    """Return the code that `manage.py shell` runs."""
    return f"from benchmarks.admin_data import Sizes, fill; fill(Sizes(**{asdict(sizes)!r}))"
