"""Decisions for benchmarks.archive. Every filter has values that are frequent, and values of one row in 50,000."""

from datetime import timedelta
from uuid import UUID

from django.db import connection
from django.utils import timezone

from accounts.models import Account
from analytics.events.partitions import ensure_partitions
from kit.values import ids
from tests import factories

ITEMS, REQUESTERS, POLICIES = 200, 1_000, 20
CHUNK = 250_000

# An id of the time of the row, as the service makes them (UUIDv7).
ID = """(lpad(to_hex(floor(extract(epoch FROM moment) * 1000)::bigint), 12, '0') || '70008'
  || substr(md5(n::text), 1, 15))::uuid"""
ROWS = """FROM generate_series(%(first)s::int, %(last)s::int) n,
  LATERAL (SELECT now() - ((%(count)s - n)::float / %(count)s) * %(days)s * interval '1 day' AS moment) moments,
  LATERAL (SELECT %(contents)s::uuid[] AS contents, %(requesters)s::bigint[] AS requesters,
    %(policies)s::uuid[] AS policies, %(sites)s::text[] AS sites) drawn"""
CONTENT = "contents[1 + (n * 7919::bigint) %% array_length(contents, 1)]"
REQUESTER = "requesters[1 + (n * 104729::bigint) %% array_length(requesters, 1)]"
POLICY = "policies[1 + n %% array_length(policies, 1)]"

DECISIONS = f"""
INSERT INTO analytics_accessevent
  (id, account_id, content_id, requester_id, policy_id, policy_version, allowed, reason, facts, created)
SELECT {ID}, %(account)s, {CONTENT}, {REQUESTER}, CASE WHEN n %% 50 > 0 THEN {POLICY} END, 1,
  n %% 3 > 0, CASE WHEN n %% 50000 = 0 THEN 'rate_limit_exceeded' WHEN n %% 3 = 0 THEN 'no_license' END,
  jsonb_build_object('requester', '{{}}'::jsonb,
    'url', 'https://example.com/' || CASE WHEN n %% 50000 = 7 THEN 'rare' ELSE (n %% 1000)::text END,
    'siteId', sites[CASE WHEN n %% 50000 = 7 THEN 2 ELSE 1 END],
    'identifiedBy', CASE WHEN n %% 50000 = 7 THEN 'address' WHEN n %% 4 = 0 THEN 'user_agent' ELSE 'nothing' END,
    'referrer', CASE WHEN n %% 50000 = 7 THEN 'rare.example' ELSE 'www.example' END),
  moment
{ROWS}"""


def uuid_text(prefix: str, id: str) -> str:
    return str(UUID(hex=ids.id_to_hex(prefix, id)))


def fill_account(account: Account, rows: int, days: int) -> None:
    """Insert decisions spread over `days`, oldest first, and the items, customers and policies that they refer to."""
    policies = [factories.policy(account, name=f"Policy {number}") for number in range(POLICIES)]
    contents = [factories.content(account, policy=policies[0]) for _ in range(ITEMS)]
    requesters = [factories.requester(account, requester_id=f"org_{number}") for number in range(REQUESTERS)]
    ensure_partitions(timezone.now() - timedelta(days=days), months_ahead=days // 28)
    values = {
        "account": uuid_text("acc", account.pk),
        "contents": [uuid_text("cnt", content.pk) for content in contents],
        "policies": [uuid_text("pol", policy.pk) for policy in policies],
        "requesters": [requester.pk for requester in requesters],
        "sites": [ids.new_id("site"), ids.new_id("site")],
        "days": days,
        "count": rows,
    }
    with connection.cursor() as cursor:
        for first in range(1, rows + 1, CHUNK):
            cursor.execute(DECISIONS, {**values, "first": first, "last": min(first + CHUNK - 1, rows)})
