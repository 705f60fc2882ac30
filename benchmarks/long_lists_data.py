"""Rows for benchmarks/long_lists.py: a year of decisions, ledger entries, changes, events and items of one account.

Every filter has values that are frequent, and values of one row in 50,000.
"""

import sys
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

from django.db import connection
from django.utils import timezone

from accounts.models import Account
from analytics.events.partitions import ensure_partitions
from kit.values import ids
from tests import factories

DAYS = 365
ITEMS, REQUESTERS, POLICIES = 200, 1_000, 20
CHUNK = 250_000
Values = dict[str, object]

# An id of the time of the row, as the service makes them (UUIDv7).
ID = """(lpad(to_hex(floor(extract(epoch FROM moment) * 1000)::bigint), 12, '0') || '70008'
  || substr(md5(n::text), 1, 15))::uuid"""
ROWS = """FROM generate_series(%(first)s::int, %(last)s::int) n,
  LATERAL (SELECT now() - ((%(count)s - n)::float / %(count)s) * %(days)s * interval '1 day' AS moment) moments,
  LATERAL (SELECT %(contents)s::uuid[] AS contents, %(requesters)s::bigint[] AS requesters,
    %(policies)s::uuid[] AS policies, %(sites)s::text[] AS sites) drawn"""
CONTENT = "contents[1 + (n * 7919::bigint) %% array_length(contents, 1)]"
REQUESTER = "requesters[1 + (n * 104729::bigint) %% array_length(requesters, 1)]"


def any_id(prefix: str, number: str) -> str:
    """Return SQL of a stored kit.values.ids.AnyIdField."""
    return f"'\\x00'::bytea || '{prefix}'::bytea || decode(md5({number}::text), 'hex')"


ANY_ID = f"CASE WHEN n %% 50000 = 7 THEN {any_id('pol', '7')} ELSE {any_id('cnt', '(n %% 10000)')} END"
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

LEDGER = f"""
INSERT INTO analytics_ledgerentry
  (id, account_id, type, amount, currency, occurred_at, license_id, license_type, decision_id, content_id,
   requester_id, description, created)
SELECT {ID}, %(account)s,
  CASE WHEN n %% 50000 = 7 THEN 'license' WHEN n %% 20 = 0 THEN 'adjustment' ELSE 'usage' END, 0.05,
  CASE WHEN n %% 50000 = 7 THEN 'ISK' WHEN n %% 4 = 0 THEN 'USD' ELSE 'EUR' END, moment,
  CASE WHEN n %% 50000 = 7 THEN md5('rare')::uuid WHEN n %% 10 = 0 THEN md5((n %% 500)::text)::uuid END,
  CASE WHEN n %% 50000 = 7 THEN 'rare' WHEN n %% 10 > 0 THEN 'commercial' END,
  CASE WHEN n %% 400 = 0 THEN md5(n::text)::uuid END, {CONTENT}, {REQUESTER}, NULL, moment
{ROWS}"""

AUDIT = f"""
INSERT INTO accounts_auditentry
  (id, account_id, actor_type, actor_id, actor_name, action, resource_type, resource_id, resource_title, changes,
   request_id, address, created)
SELECT {ID}, %(account)s, CASE WHEN n %% 50000 = 7 THEN 'operator' WHEN n %% 9 = 0 THEN 'system' ELSE 'key' END,
  CASE WHEN n %% 50000 = 7 THEN '7'::bytea WHEN n %% 9 > 0 THEN {any_id("key", "(n %% 5)")} END, 'Import',
  CASE WHEN n %% 50000 = 7 THEN 'policy.deleted' WHEN n %% 3 = 0 THEN 'content.created' ELSE 'content.updated' END,
  CASE WHEN n %% 50000 = 7 THEN 'policy' ELSE 'content' END,
  {ANY_ID}, 'An item',
  '{{"title": ["Before", "After"]}}'::jsonb, md5(n::text), '192.0.2.1', moment
{ROWS}"""

EVENTS = f"""
INSERT INTO accounts_event (id, account_id, type, object_id, data, previous, created)
SELECT {ID}, %(account)s,
  CASE WHEN n %% 50000 = 7 THEN 'policy.deleted' WHEN n %% 3 = 0 THEN 'content.created' ELSE 'content.updated' END,
  {ANY_ID},
  '{{"object": "content", "title": "An item", "status": "active", "tags": ["news"], "metadata": {{}}}}', NULL, moment
{ROWS}"""

ITEMS_OF_THE_LIST = f"""
INSERT INTO licensing_content
  (id, account_id, external_id, title, type, source, source_key, policy_id, author, published_at, category, word_count,
   metadata_extra, tags, status, created, updated)
SELECT {ID}, %(account)s, CASE WHEN n %% 10 > 0 THEN 'item-' || n END,
  CASE WHEN n %% 50000 = 7 THEN 'Rare' ELSE 'An article about ' || n %% 5000 END,
  CASE WHEN n %% 50000 = 7 THEN 'video' WHEN n %% 5 = 0 THEN 'report' ELSE 'article' END,
  CASE WHEN n %% 10 > 0 THEN 'https://example.com/' || n END,
  CASE WHEN n %% 10 > 0 THEN decode(md5('https://example.com/' || n), 'hex') END,
  CASE WHEN n %% 50000 = 7 THEN policies[1]
    WHEN n %% 50 > 0 THEN policies[2 + n %% (array_length(policies, 1) - 1)] END,
  CASE WHEN n %% 50000 = 7 THEN 'Rare Author' WHEN n %% 10 > 0 THEN 'Author ' || n %% 50 END,
  CASE WHEN n %% 10 > 0 THEN (moment - interval '1 day')::date END,
  CASE WHEN n %% 50000 = 7 THEN 'rare' WHEN n %% 10 > 0 THEN 'category ' || n %% 8 END,
  CASE WHEN n %% 10 > 0 THEN n %% 3000 END, '{{}}'::jsonb,
  CASE WHEN n %% 50000 = 7 THEN '["rare"]'::jsonb WHEN n %% 10 > 0 THEN jsonb_build_array('news', 'tag' || n %% 30)
    ELSE '[]'::jsonb END,
  CASE WHEN n %% 50000 = 7 THEN 'archived' ELSE 'active' END, moment, moment
{ROWS}"""

ROWS_OF: dict[str, str] = {
    "/v1/access/decisions": DECISIONS,
    "/v1/revenue": LEDGER,
    "/v1/audit": AUDIT,
    "/v1/events": EVENTS,
    "/v1/content": ITEMS_OF_THE_LIST,
}


def uuid_of(prefix: str, id: str) -> str:
    return str(UUID(hex=ids.id_to_hex(prefix, id)))


def shared_values(account: Account, days: int = DAYS) -> Values:
    """Create what the rows refer to. They are spread over `days`, for which decisions have partitions."""
    policies = [factories.policy(account, name=f"Policy {number}") for number in range(POLICIES)]
    contents = [factories.content(account) for _ in range(ITEMS)]
    requesters = [factories.requester(account, requester_id=f"org_{number}") for number in range(REQUESTERS)]
    ensure_partitions(timezone.now() - timedelta(days=days), months_ahead=days // 28)
    return {
        "account": uuid_of("acc", account.pk),
        "contents": [uuid_of("cnt", one.pk) for one in contents],
        "policies": [uuid_of("pol", one.pk) for one in policies],
        "requesters": [one.pk for one in requesters],
        "sites": [ids.new_id("site"), ids.new_id("site")],
        "days": days,
    }


def fill(path: str, rows: int, values: Values, report: Callable[[str], object] = sys.stderr.write) -> None:
    """Insert this number of rows into a list, oldest first."""
    with connection.cursor() as cursor:
        for first in range(1, rows + 1, CHUNK):
            last = min(first + CHUNK - 1, rows)
            cursor.execute(ROWS_OF[path], {**values, "count": rows, "first": first, "last": last})
            report(f"{path}: {last:,} rows\n")
