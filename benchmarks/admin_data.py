"""Data for benchmarks.admin_pages: rows cloned by SQL from rows created through the API."""

from dataclasses import dataclass

from benchmarks.growth_data import DAYS, MAKE_PARTITIONS, Data, one_of, uuid7
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, LICENSED, UNLICENSED, Installation

WORDS = "(ARRAY['annual','climate','market','weather','budget','election','harbour','museum'])"


@dataclass(frozen=True)
class Sizes:
    events: int = 1_000_000
    items: int = 50_000
    requesters: int = 20_000
    licenses: int = 20_000
    entries: int = 200_000  # of the ledger
    changes: int = 200_000  # in the audit log
    policies: int = 200
    keys: int = 2_000  # and as many clients of the licence server
    sites: int = 200  # and as many webhook endpoints
    visitors: int = 1_000  # at the edge, each on every day


CLOSE_MONTHS = """
from django.utils import timezone
from analytics.statements.closing import close_due
close_due(timezone.now())
"""


def of_server(made: Installation, data: Data, sizes: Sizes) -> None:
    """Create keys, clients, sites and endpoints."""
    made.post("/v1/license-clients", {"requesterId": "org_acme", "name": "Crawler"})
    for number in range(sizes.sites):  # each with an item of its own behind it
        made.post("/v1/sites", {"host": f"site-{number}.example", "rules": [{"pattern": "/a/*", "policyId": None}]})
    made.post("/v1/webhooks", {"url": "https://hooks.example/in"})
    kept = {"name": "'number ' || n", "digest": "sha256(('key' || n)::bytea)", "prefix": "'svc_sk_' || n"}
    data.clone("accounts_apikey", sizes.keys, id=uuid7(f"{data.begin} + n", "key"), **kept)
    data.clone("licensing_licenseclient", sizes.keys, id=uuid7(f"{data.begin} + n", "client"), **kept)
    data.clone("accounts_webhookendpoint", sizes.sites, id=uuid7(f"{data.begin} + n", "endpoint"))


def fill(made: Installation, sizes: Sizes) -> None:
    policy = made.policy(ALLOW_LICENSED, DENY_ALL)
    [item] = made.items(policy)
    made.expect_decisions(item, LICENSED, UNLICENSED)
    terms = {"requesterId": "org_acme", "licenseType": "editorial", "price": {"amount": "10", "currency": "EUR"}}
    made.post("/v1/licenses", terms)
    data = Data(made)
    begin = data.begin
    data.policies(sizes.policies)
    data.clone(
        "licensing_content",
        sizes.items,
        id=uuid7(f"{begin} + n", "content"),
        title=f"{WORDS}[1 + n % 8] || ' ' || {WORDS}[1 + n / 8 % 8] || ' report ' || n",
        external_id="'item/' || lpad(n::text, 8, '0')",
        category="'category ' || n % 500",
        status="CASE WHEN n % 100 = 0 THEN 'archived' ELSE 'active' END",
        type="(ARRAY['article','report','image','dataset'])[1 + n % 4]",
        policy_id=f"{one_of('licensing_policy')}[1 + n % {sizes.policies}]",
    )
    data.clone(
        "licensing_requester",
        sizes.requesters,
        id=None,
        requester_id="'requester' || lpad(n::text, 7, '0')",
        name=f"initcap({WORDS}[1 + n % 8]) || ' House ' || n",
    )
    data.clone(
        "licensing_license",
        sizes.licenses,
        id=uuid7(f"{begin} + n", "license"),
        requester_id=f"{one_of('licensing_requester')}[1 + n % {sizes.requesters}]",
        license_type="(ARRAY['commercial','editorial','research'])[1 + n % 3]",
        status="CASE WHEN n % 50 = 0 THEN 'revoked' ELSE 'active' END",
        expires_at="CASE WHEN n % 3 = 0 THEN seed.created - interval '1 day' END",
    )
    data.clone(
        "analytics_ledgerentry",
        sizes.entries,
        id=uuid7(f"{begin} + n * 60000::bigint", "entry"),
        requester_id=f"{one_of('licensing_requester')}[1 + n % {sizes.requesters}]",
        occurred_at=f"to_timestamp(({begin} + n * 60000::bigint) / 1000.0)",
        created=f"to_timestamp(({begin} + n * 60000::bigint) / 1000.0)",
    )
    made.manage("shell", "--verbosity", "0", "-c", CLOSE_MONTHS, seconds=3600)
    of_server(made, data, sizes)
    data.clone("accounts_auditentry", sizes.changes, id=uuid7(f"{begin} + n", "change"))
    made.manage("shell", "--verbosity", "0", "-c", MAKE_PARTITIONS)
    moment = f"{begin} + (n::bigint * {DAYS * 86_400_000}) / {sizes.events + 1}"
    data.clone(
        "analytics_accessevent",
        sizes.events,
        id=uuid7(moment, "event"),
        created=f"to_timestamp(({moment}) / 1000.0)",
        content_id=f"{one_of('licensing_content')}[1 + n % {sizes.items}]",
        requester_id=f"{one_of('licensing_requester')}[1 + n % {sizes.requesters}]",
        allowed="n % 3 > 0",
        reason="CASE WHEN n % 3 = 0 THEN 'no_license' END",
        rule_index="CASE WHEN n % 3 = 0 THEN 1 ELSE 0 END",
    )
    data.execute(
        f"""INSERT INTO licensing_visitorday
        (account_id, day, requester_id, identified_by, allowed, observed, denied, last_seen)
        SELECT account_id, current_date - n, id, (ARRAY['license_token','user_agent','address'])[1 + id % 3],
          20, 5, 10, now() - n * interval '1 day'
        FROM (SELECT id, account_id FROM licensing_requester ORDER BY id LIMIT {sizes.visitors}) visitor,
          generate_series(0, {DAYS - 1}) n"""  # noqa: S608
    )
    made.manage("rebuild_usage", seconds=3600)  # the overview reads rollups
    data.close()
