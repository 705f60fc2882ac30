"""A year of decisions for benchmarks.reports, made by SQL, with Zipf-like popularity of items and requesters."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

DAYS = 365
ITEMS, REQUESTERS = 50_000, 20_000
CHUNK = 500_000
REASONS = {
    "no_license": 0.15,
    "rate_limit_exceeded": 0.05,
    "license_expired": 0.04,
    "policy_denied": 0.03,
    "content_archived": 0.01,
    "no_policy": 0.01,
    "permission_not_granted": 0.01,
}
FACTS = '{"contentType": "article", "licenseType": "commercial", "hasValidLicense": true, "requesterName": "Acme"}'


def uuid7(salt: str) -> str:
    digits = f"md5('{salt}' || n)"
    return f"(lpad(to_hex(ms), 12, '0') || '7' || substr({digits}, 1, 3) || '8' || substr({digits}, 4, 15))::uuid"


def reason_of(draw: str) -> str:
    """SQL for the outcome of a number drawn from 0 to 1: seven in ten are allowed."""
    whens, below = [], 0.0
    for reason, share in REASONS.items():
        below += share
        whens.append(f"WHEN {draw} < {below:.2f} THEN '{reason}'")
    return f"CASE {' '.join(whens)} END"


def fill(database: str, account: str, events: int) -> None:
    """Items, requesters and events of the account (a UUID), spread evenly over the year that ends now.

    The k-th most popular is asked for in proportion to 1/k, nearly: the inverse of the continuous distribution.
    """
    now = datetime.now(UTC)
    begin = int((now - timedelta(days=DAYS)).timestamp() * 1000)
    with psycopg.connect(database, autocommit=True) as connection:
        run: Callable[..., Any] = connection.execute
        run("SELECT setseed(0.5)")
        run(f"""INSERT INTO licensing_content
          (id, account_id, title, type, metadata_extra, tags, status, created, updated)
          SELECT {uuid7("content")}, '{account}', 'An item of middling length, number ' || n, 'article', '{{}}', '[]',
            'active', now(), now() FROM (SELECT n, {begin} + n AS ms FROM generate_series(1, {ITEMS}) n) seed""")  # noqa: S608
        run(f"""INSERT INTO licensing_requester (account_id, requester_id, name, created)
          SELECT '{account}', 'requester' || lpad(n::text, 5, '0'), 'Requester ' || n, now()
          FROM generate_series(1, {REQUESTERS}) n""")  # noqa: S608
        for first in range(0, events, CHUNK):
            last = min(first + CHUNK, events)
            run(f"""INSERT INTO analytics_accessevent (id, account_id, content_id, requester_id, policy_id,
                policy_version, allowed, reason, rule_index, permission, facts, created)
              SELECT {uuid7("event")}, '{account}',
                {zipf("licensing_content", "r1", ITEMS)}, {zipf("licensing_requester", "r2", REQUESTERS)},
                '0199a000-0000-7000-8000-000000000001', 1, reason IS NULL, reason, 0, 'commercial_use', '{FACTS}',
                to_timestamp(ms / 1000.0)
              FROM (SELECT *, {reason_of("r3")} AS reason FROM (
                SELECT n, {begin} + n::bigint * {DAYS * 86_400_000} / {events} AS ms,
                  random() AS r1, random() AS r2, random() AS r3
                FROM generate_series({first + 1}, {last}) n) drawn) seed""")  # noqa: S608
            print(f"{last:,} of {events:,} events", file=sys.stderr, flush=True)
        run("VACUUM ANALYZE")


def zipf(table: str, draw: str, count: int) -> str:
    ranked = f"ARRAY(SELECT id FROM {table} ORDER BY md5(id::text))"  # noqa: S608
    return f"({ranked})[floor(exp({draw} * ln({count} + 1)))::int]"


def sizes(database: str) -> tuple[int, int]:
    """Bytes of the events and of the usage rollups, their indexes included."""
    with psycopg.connect(database) as connection:
        rows = connection.execute(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r'"
            " AND relname ~ '^analytics_(accessevent|hourlyusage|(content|requester)(year|month)$)'"
        ).fetchall()
    events = sum(size for name, size in rows if name.startswith("analytics_accessevent"))
    return events, sum(size for _, size in rows) - events
