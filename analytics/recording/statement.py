"""The recorder's SQL: count rate limits, store events and charges, and append pending rows.

One statement on PostgreSQL (`postgresql`), several on SQLite (analytics.recording.recorder_sqlite).
"""

from functools import cache
from typing import NamedTuple

from accounts.models import IdempotencyRecord
from accounts.retries.idempotency import CLAIM
from analytics.recording.naming import IS_NAMED, NAMINGS
from analytics.recording.spending_sql import AFTER_PURSES, FACTS, IS_PAID, PAYERS, PAYING, PURSES, RESULTS, SPENT

MAX_MISSED = 100  # epochs to compare; decisions further behind read the changes first
RATE_LIMIT_EXCEEDED = "rate_limit_exceeded"

# `base` is the current window's count so far; `excluded` holds the new claims.
BASE = "CASE WHEN excluded.window_start > u.window_start THEN 0 ELSE u.used END"
COUNT = """
INSERT INTO analytics_ruleusage AS u
  (requester_id, policy_id, rule, window_start, used, allowance, claimed, granted)
{source}
ON CONFLICT (requester_id, policy_id, rule) DO UPDATE SET
  window_start = {greatest}(u.window_start, excluded.window_start),
  used = {base} + {least}(excluded.claimed, {greatest}(excluded.allowance - {base}, 0)),
  allowance = excluded.allowance,
  claimed = excluded.claimed,
  granted = {least}(excluded.claimed, {greatest}(excluded.allowance - {base}, 0))
"""
LEDGER_COLUMNS = """id, account_id, type, amount, currency, occurred_at, license_id, license_type, decision_id,
  content_id, requester_id, created"""
EVENT_COLUMNS = """id, account_id, content_id, requester_id, policy_id, policy_version, allowed, reason, rule_index,
  permission, facts, rate_remaining, rate_reset, created"""


CLAIMS = """
  SELECT requester, policy, rule, window_start, least(claimed, allowance), allowance, claimed,
    least(claimed, allowance)
  FROM counter WHERE account NOT IN (SELECT account FROM stale) {is_named}
  ORDER BY requester, policy, rule"""
# Accounts whose facts may have changed since the decision's epoch: a later epoch has no row (accounts.plans.epochs),
# or changed something that the decision depends on.
STALE = f"""
  SELECT DISTINCT account FROM behind
  WHERE {{first}} (missed IS NULL OR missed NOT BETWEEN 1 AND {MAX_MISSED} OR missed > (
    SELECT count(*) FROM accounts_epochchange change
    WHERE change.account_id = behind.account AND change.epoch > behind.epoch
      AND change.epoch <= behind.epoch + behind.missed AND NOT change.names ?| (
        behind.also || ARRAY[behind.requester::text, replace(behind.policy::text, '-', '')]
        || replace(behind.contents::text, '-', '')::text[])))"""  # noqa: S608 - made of constants
PENDING_ROW = """
  INSERT INTO analytics_recentusage (account_id, hour, contents, requesters, outcomes)
  SELECT account_id, date_trunc('hour', created, 'UTC'), array_agg(content_id), array_agg(requester_id),
    array_agg(coalesce(reason, ''))
  FROM stored GROUP BY 1, 2"""
# One row per case, so that lists of many similar decisions are not split and rebuilt.
PENDING_ROWS = """
  INSERT INTO analytics_recentusage (account_id, hour, contents, requesters, outcomes)
  SELECT account, date_trunc('hour', created, 'UTC'), contents, array_fill(requester, ARRAY[cardinality(ids)]),
    array_fill(coalesce(reason, ''), ARRAY[cardinality(ids)])
  FROM alike WHERE {stored}"""
RETURNED = "id, account_id, content_id, requester_id, allowed, reason, created, observed"
CHARGES = """charge AS MATERIALIZED (
  SELECT * FROM json_to_recordset(%s::json) AS charge (
    "case" int, amount bigint, currency text, license uuid, license_type text)
), """
# Writes ledger entries for the allowed decisions in `charge`.
CHARGED = f"""
, charged AS (
  INSERT INTO analytics_entry ({LEDGER_COLUMNS})
  SELECT stored.id, account_id, 'usage', amount, currency, stored.created, license, license_type, stored.id,
    content_id, requester_id, stored.created
  FROM charge JOIN entry ON entry.number = charge."case" JOIN stored ON stored.id = entry.id
  WHERE stored.allowed AND stored.observed IS NULL
  RETURNING account_id, currency, license_type, requester_id, content_id, amount, occurred_at
), pending_revenue AS (
  INSERT INTO analytics_recentrevenue (account_id, hour, currency, amounts, license_types, contents, requesters)
  SELECT account_id, date_trunc('hour', occurred_at, 'UTC'), currency, array_agg(amount),
    array_agg(coalesce(license_type, '')), array_agg(content_id), array_agg(requester_id)
  FROM charged GROUP BY 1, 2, 3)"""  # noqa: S608


# Claims Idempotency-Keys and stores their replies. A key that another transaction claims is skipped, so that no other
# decision waits for it.
REPLIES = """SELECT account, key, decode(fingerprint, 'hex'), 200, sealed, created FROM reply
  WHERE account NOT IN (SELECT account FROM stale) {is_named}
    AND pg_try_advisory_xact_lock(hashtextextended(account::text || key, 0))
  ORDER BY account, key"""
UNTIL = f"excluded.created - interval '{IdempotencyRecord.LIFETIME.total_seconds():.0f} seconds'"
CLAIMED_KEYS = f"""
, reply AS MATERIALIZED (
  SELECT * FROM ROWS FROM (unnest(%s::bytea[]), json_to_recordset(%s::json) AS (
    account uuid, key text, fingerprint text, created timestamptz, naming int)
  ) WITH ORDINALITY AS reply (sealed, account, key, fingerprint, created, naming, number)
), taken AS (
  {CLAIM.format(keys=REPLIES, oldest=UNTIL)}
), claimed AS (
  SELECT number FROM reply JOIN taken ON taken.account_id = reply.account AND taken.key = reply.key
)"""  # noqa: S608 - made of constants


# Counts the claims on rate limits; `settled` has each counter's result.
COUNTERS = """, counter AS MATERIALIZED (
  SELECT number, account, requester, policy, decode(rule, 'hex') AS rule, window_start, allowance, claimed, naming
  FROM json_to_recordset(%s::json) AS counter (
    number int, account uuid, requester bigint, policy uuid, rule text, window_start bigint, allowance bigint,
    claimed bigint, naming int)
)"""
SETTLED = """, counted AS ({counted}
  RETURNING requester_id, policy_id, rule, used, granted
), settled AS (
  SELECT number, counter.allowance - counted.used + counted.granted AS room, counted.granted
  FROM counter JOIN counted
  ON counted.requester_id = counter.requester AND counted.policy_id = counter.policy AND counted.rule = counter.rule
)"""


class StoredColumns(NamedTuple):
    """SQL expressions for a decision's stored columns, with or without rate limits."""

    counted: str = ""
    allowed: str = "allowed"
    reason: str = "reason"
    observed: str = "observed"
    remaining: str = "NULL::bigint"
    limits: str = ""


AS_COUNTED = StoredColumns(
    counted="counter, coalesce(claimed, 0) + generate_subscripts(ids, 1) AS ordinal,",
    allowed="allowed AND (counter IS NULL OR ordinal <= granted OR observed IS NOT NULL)",
    reason=f"CASE WHEN ordinal > granted AND observed IS NULL THEN '{RATE_LIMIT_EXCEEDED}' ELSE reason END",
    observed=f"CASE WHEN ordinal > granted AND observed IS NOT NULL THEN '{RATE_LIMIT_EXCEEDED}' ELSE observed END",
    remaining="greatest(room - ordinal, 0)",
    limits="LEFT JOIN settled ON settled.number = entry.counter",
)


@cache
def postgresql(*, charging: bool, counting: bool, naming: bool, keeping: bool, spending: bool, alike: bool) -> str:
    """Return the statement for a batch with or without charges, rate limits, requesters, replies and spends.

    `alike`: most decisions are similar and have no rate limit. Each omitted part saves PostgreSQL a tenth of a check
    or more.

    Returns: stale accounts, counters' results, number of stored decisions, stored replies, accounts with a newer
    epoch, and namings that were not written; if it spends, also the wallets that pay, with their credit before it.
    Parameters, as far as used: charges (JSON), decision ids and items (arrays), cases (JSON), wallets (arrays),
    counters and namings (JSON), encrypted replies (array) and their claims (JSON), spends (arrays). A case with a
    reply or spend must not claim a counter, because it may not be stored.

    `entry` is only materialised if charges use it too, which saves a tenth of a decision's cost. All writers insert
    rows in the same order, so that they do not deadlock.
    """
    is_named = IS_NAMED if naming else ""
    claims = CLAIMS.format(is_named=is_named)
    claimed_keys = CLAIMED_KEYS.format(is_named=is_named)
    counted = COUNT.format(source=claims, base=BASE, least="least", greatest="greatest")
    settled = SETTLED.format(counted=counted) if counting else ""
    stored = AS_COUNTED if counting else StoredColumns()
    is_claimed = "AND (reply IS NULL OR reply IN (SELECT number FROM claimed))" if keeping else ""
    is_paid = IS_PAID if spending else ""
    is_stored = f"account NOT IN (SELECT account FROM stale) {is_named} {is_claimed} {is_paid}"  # noqa: S608
    return f"""
WITH {CHARGES if charging else ""}alike AS MATERIALIZED (
  SELECT (%s::uuid[])[first:last] AS ids, (%s::uuid[])[first:last] AS contents, alike.*
  FROM json_to_recordset(%s::json) AS alike (
    number int, first int, last int, account uuid, epoch bigint, requester bigint, policy uuid,
    policy_version int, allowed boolean, reason text, rule_index smallint, permission text, facts jsonb,
    created timestamptz, counter int, claimed int, reply int, naming int, rate_reset bigint, observed text,
    also text[]{", purse int, taken numeric" if spending else ""})
), entry AS (
  SELECT unnest(ids) AS id, account, unnest(contents) AS content, requester, policy, policy_version, allowed, reason,
    rule_index, permission, facts, created, {stored.counted} reply, naming, rate_reset, observed, number
    {", purse, taken" if spending else ""}
  FROM alike
){PURSES if spending else ""}{COUNTERS if counting else ""}, current AS MATERIALIZED (
  SELECT id, epoch FROM accounts_account WHERE id = ANY (ARRAY(SELECT DISTINCT account FROM alike))
), behind AS MATERIALIZED (
  SELECT alike.*, current.epoch - alike.epoch AS missed FROM alike LEFT JOIN current ON current.id = account
  WHERE current.epoch IS DISTINCT FROM alike.epoch
), stale AS MATERIALIZED ({STALE.format(first=AFTER_PURSES if spending else "")}
){NAMINGS if naming else ""}{claimed_keys if keeping else ""}{settled}{PAYING if spending else ""}, stored AS (
  INSERT INTO analytics_accessevent ({EVENT_COLUMNS}, observed)
  SELECT id, account, content, requester, policy, policy_version,
    {stored.allowed}, {stored.reason}, rule_index, permission, {FACTS if spending else "facts"}, {stored.remaining},
    rate_reset, created, nullif({stored.observed}, '')
  FROM entry {stored.limits} {PAYERS if spending else ""}
  WHERE {is_stored}
  RETURNING {"1" if alike and not charging else RETURNED}
), pending_usage AS ({PENDING_ROWS.format(stored=is_stored) if alike else PENDING_ROW}){CHARGED if charging else ""}
{SPENT if spending else ""}
SELECT (SELECT json_agg(replace(account::text, '-', '')) FROM stale)::text,
       {"(SELECT json_agg(json_build_array(number, room)) FROM settled)::text" if counting else "NULL"},
       (SELECT count(*) FROM stored),
       {"(SELECT json_agg(number) FROM claimed)::text" if keeping else "NULL"},
       (SELECT json_agg(DISTINCT replace(account::text, '-', '')) FROM behind)::text,
       {"(SELECT json_agg(number) FROM unnamed)::text" if naming else "NULL"}
       {RESULTS if spending else ""}
"""  # noqa: S608 - made of constants
