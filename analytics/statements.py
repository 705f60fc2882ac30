"""The SQL of the recorder: counting rules' limits, storing events, charging, adding to the rollups.

On PostgreSQL it is all one statement (`postgresql`); on SQLite, a statement each (analytics.sqlite).
"""

from datetime import date
from functools import lru_cache

RATE_LIMIT_EXCEEDED = "rate_limit_exceeded"

# base is what the counter's current window has used so far; excluded holds the new claims.
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
# What a batch adds to the rollups. A batch is of one UTC day, so that each rollup has one column to add to.
HOURLY = """
INSERT INTO analytics_hourlyusage AS u (account_id, hour, outcome, shard, requests)
{source}
ON CONFLICT (account_id, hour, outcome, shard) DO UPDATE SET requests = u.requests + excluded.requests
"""
YEARLY = """
INSERT INTO analytics_{one}year AS u (account_id, year, {one}_id, requests, allowed, m{month})
{source}
ON CONFLICT (account_id, {one}_id, year) DO UPDATE SET requests = u.requests + excluded.requests,
  allowed = u.allowed + excluded.allowed, m{month} = u.m{month} + excluded.m{month}
"""
MONTHLY = """
INSERT INTO analytics_{one}month AS u (account_id, month, {one}_id, d{day})
{source}
ON CONFLICT (account_id, month, {one}_id) DO UPDATE SET d{day} = u.d{day} + excluded.d{day}
"""
LEDGER_COLUMNS = """id, account_id, type, amount, currency, occurred_at, license_id, license_type, decision_id,
  content_id, requester_id, created"""
REVENUE = """
INSERT INTO analytics_{one}revenue AS u (account_id, day, currency, {key}, amount)
{source}
ON CONFLICT (account_id, day, currency, {key}) DO UPDATE SET amount = u.amount + excluded.amount
"""
EVENT_COLUMNS = """id, account_id, content_id, requester_id, policy_id, policy_version, allowed, reason, rule_index,
  permission, facts, rate_remaining, rate_reset, created"""


CLAIMS = """
  SELECT requester, policy, rule, window_start, least(claimed, allowance), allowance, claimed,
    least(claimed, allowance)
  FROM counter WHERE account NOT IN (SELECT account FROM stale) ORDER BY requester, policy, rule"""
OUTCOMES = """
  SELECT account_id, date_trunc('hour', created, 'UTC'), coalesce(reason, ''), %s, count(*)
  FROM stored GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"""


def month_number(day: date) -> int:
    """As in analytics.models.usage.Monthly."""
    return day.year * 12 + day.month - 1


@lru_cache(maxsize=8)
def postgresql(day: date, *, charging: bool) -> str:
    """The statement for a batch of that UTC day, one that charges or one that does not.

    Its parameters: cases, rows and counters as JSON arrays, and the shard. If charging, the charges come first, and
    the shard once more last.
    Rows are written in one order everywhere, so that transactions that meet wait for each other in turn.
    """
    counted = COUNT.format(source=CLAIMS, base=BASE, least="least", greatest="greatest")
    rollups = ", ".join(rollups_of(one, day) for one in ("content", "requester"))
    return f"""
WITH {CHARGES if charging else ""}alike AS MATERIALIZED (
  SELECT * FROM json_to_recordset(%s::json) AS alike (
    number int, account uuid, epoch bigint, requester bigint, policy uuid, policy_version int, allowed boolean,
    reason text, rule_index smallint, permission text, facts jsonb, created timestamptz, counter int,
    rate_reset bigint)
), entry AS MATERIALIZED (
  SELECT entry.id, entry.content, entry.ordinal, alike.*
  FROM json_to_recordset(%s::json) AS entry (id uuid, content uuid, "case" int, ordinal int)
  JOIN alike ON alike.number = entry."case"
), counter AS MATERIALIZED (
  SELECT number, account, requester, policy, decode(rule, 'hex') AS rule, window_start, allowance, claimed
  FROM json_to_recordset(%s::json) AS counter (
    number int, account uuid, requester bigint, policy uuid, rule text, window_start bigint, allowance bigint,
    claimed bigint)
), stale AS MATERIALIZED (
  SELECT DISTINCT alike.account
  FROM alike LEFT JOIN accounts_account account ON account.id = alike.account
  WHERE account.epoch IS DISTINCT FROM alike.epoch
), counted AS ({counted}  RETURNING requester_id, policy_id, rule, used, granted
), settled AS (
  SELECT number, counter.allowance - counted.used + counted.granted AS room, counted.granted
  FROM counter JOIN counted
  ON counted.requester_id = counter.requester AND counted.policy_id = counter.policy AND counted.rule = counter.rule
), stored AS (
  INSERT INTO analytics_accessevent ({EVENT_COLUMNS})
  SELECT id, account, content, requester, policy, policy_version,
    allowed AND (counter IS NULL OR ordinal <= granted),
    CASE WHEN ordinal > granted THEN '{RATE_LIMIT_EXCEEDED}' ELSE reason END,
    rule_index, permission, facts, greatest(room - ordinal, 0), rate_reset, created
  FROM entry LEFT JOIN settled ON settled.number = entry.counter
  WHERE account NOT IN (SELECT account FROM stale)
  RETURNING id, account_id, content_id, requester_id, allowed, reason, created
), hourly AS ({HOURLY.format(source=OUTCOMES)}), {rollups}{charged(day) if charging else ""}
SELECT (SELECT json_agg(replace(account::text, '-', '')) FROM stale)::text,
       (SELECT json_agg(json_build_array(number, room, granted)) FROM settled)::text,
       (SELECT count(*) FROM stored)
"""  # noqa: S608 - made of constants and a date


def rollups_of(one: str, day: date) -> str:
    yearly = YEARLY.format(
        one=one,
        month=day.month,
        source=f"""
  SELECT account_id, {day.year}, {one}_id, count(*), count(*) FILTER (WHERE allowed), count(*)
  FROM stored GROUP BY 1, 3 ORDER BY 1, 3""",  # noqa: S608
    )
    monthly = MONTHLY.format(
        one=one,
        day=day.day,
        source=f"""
  SELECT account_id, {month_number(day)}, {one}_id, count(*) FROM stored GROUP BY 1, 3 ORDER BY 1, 3""",  # noqa: S608
    )
    return f"{one}_year AS ({yearly}), {one}_month AS ({monthly})"


CHARGES = """charge AS MATERIALIZED (
  SELECT * FROM json_to_recordset(%s::json) AS charge (
    "case" int, amount bigint, currency text, license uuid, license_type text)
), """


def charged(day: date) -> str:
    """The steps that write the ledger's entries for the allowed decisions of `charge`."""
    by_tier = REVENUE.format(
        one="tier",
        key="license_type, shard",
        source=f"""
  SELECT account_id, DATE '{day}', currency, coalesce(license_type, ''), %s, sum(amount)
  FROM charged GROUP BY 1, 3, 4 ORDER BY 1, 3, 4""",  # noqa: S608
    )
    others = [
        REVENUE.format(
            one=one,
            key=f"{one}_id",
            source=f"""
  SELECT account_id, DATE '{day}', currency, {one}_id, sum(amount)
  FROM charged GROUP BY 1, 3, 4 ORDER BY 1, 3, 4""",  # noqa: S608
        )
        for one in ("requester", "content")
    ]
    return f"""
, charged AS (
  INSERT INTO analytics_ledgerentry ({LEDGER_COLUMNS})
  SELECT stored.id, account_id, 'usage', amount, currency, stored.created, license, license_type, stored.id,
    content_id, requester_id, stored.created
  FROM charge JOIN entry ON entry.number = charge."case" JOIN stored ON stored.id = entry.id WHERE stored.allowed
  RETURNING account_id, currency, license_type, requester_id, content_id, amount
), by_tier AS ({by_tier}), by_requester AS ({others[0]}), by_content AS ({others[1]})"""  # noqa: S608
