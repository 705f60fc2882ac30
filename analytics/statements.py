"""The SQL of the recorder: counting rules' limits, storing events, adding to totals; on PostgreSQL all in one."""

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
TOTAL = """
INSERT INTO analytics_contentusage AS u (content_id, requests, allowed)
{source}
ON CONFLICT (content_id) DO UPDATE
SET requests = u.requests + excluded.requests, allowed = u.allowed + excluded.allowed
"""
EVENT_COLUMNS = """id, account_id, content_id, requester_id, policy_id, policy_version, allowed, reason, rule_index,
  permission, facts, rate_remaining, rate_reset, created"""

# Rows are written in one order everywhere, so that transactions that meet wait for each other in turn.
POSTGRESQL = f"""
WITH entry AS MATERIALIZED (
  SELECT * FROM json_to_recordset(%s::json) AS entry (
    id uuid, account uuid, epoch bigint, content uuid, requester bigint, policy uuid, policy_version int,
    allowed boolean, reason text, rule_index smallint, permission text, facts jsonb, created timestamptz,
    counter int, ordinal int, rate_reset bigint)
), counter AS MATERIALIZED (
  SELECT number, account, requester, policy, decode(rule, 'hex') AS rule, window_start, allowance, claimed
  FROM json_to_recordset(%s::json) AS counter (
    number int, account uuid, requester bigint, policy uuid, rule text, window_start bigint, allowance bigint,
    claimed bigint)
), stale AS MATERIALIZED (
  SELECT DISTINCT entry.account
  FROM entry LEFT JOIN accounts_account account ON account.id = entry.account
  WHERE account.epoch IS DISTINCT FROM entry.epoch
), counted AS ({
    COUNT.format(
        source='''
  SELECT requester, policy, rule, window_start, least(claimed, allowance), allowance, claimed,
    least(claimed, allowance)
  FROM counter WHERE account NOT IN (SELECT account FROM stale) ORDER BY requester, policy, rule''',
        base=BASE,
        least="least",
        greatest="greatest",
    )
}  RETURNING requester_id, policy_id, rule, used, granted
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
  RETURNING content_id, allowed
), totalled AS ({
    TOTAL.format(
        source='''
  SELECT content_id, count(*), count(*) FILTER (WHERE allowed) FROM stored GROUP BY content_id ORDER BY content_id'''
    )
})
SELECT (SELECT json_agg(replace(account::text, '-', '')) FROM stale)::text,
       (SELECT json_agg(json_build_array(number, room, granted)) FROM settled)::text,
       (SELECT count(*) FROM stored)
"""  # noqa: S608 - made of constants

INSERT_EVENT = f"INSERT INTO analytics_accessevent ({EVENT_COLUMNS}) VALUES ({', '.join(['%s'] * 14)})"  # noqa: S608
COUNT_ON_SQLITE = (
    COUNT.format(source="VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", base=BASE, least="min", greatest="max")
    + "RETURNING used, granted"
)
