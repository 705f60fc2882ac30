"""Spending from wallets in the statement that records the decisions.

The statement spends only what needs no further work: nothing is due in the wallet, it covers what all decisions of the
batch take, and its balance passes no threshold. Requests that take from another wallet are not stored; they are
decided one by one in a transaction (licensing.access.charging.paying), which applies what is due and writes events.
"""

from msgspec import Struct


class Spend(Struct, frozen=True, gc=False):
    """An amount in millionths that a decision takes from a wallet, which is named by its UUID in hex."""

    wallet: str
    unit: str
    amount: int


class Spending(Struct, eq=False, frozen=True, gc=False):
    """Identifies a request that spends: its decisions are stored if its wallets pay for all of them."""


class SpendOfCase(Struct, gc=False):
    """A spend of a case in a batch. `id` is the UUID of its wallet entry in hex.

    The decision shows what its `last` spend leaves in the wallet.
    """

    case: int
    id: str
    wallet: str
    amount: int
    last: bool


# Locks the wallets first, in the order of their ids, as every transaction does that spends. `purse` has the rows as
# they are once they are locked. `covering` is used once; PostgreSQL inlines it, which saves 2 to 3 % of the statement.
PURSES = """, spend AS MATERIALIZED (
  SELECT spend.*, account, created, reply, naming, spending, ids[1] AS decision
  FROM json_to_recordset(%s::json) AS spend ("case" int, id uuid, wallet uuid, amount bigint, last boolean)
  JOIN alike ON alike.number = spend."case"
), purse AS MATERIALIZED (
  SELECT id, balance, floor, reference, thresholds, next_change_at FROM analytics_wallet
  WHERE id = ANY (ARRAY(SELECT wallet FROM spend)) ORDER BY id FOR NO KEY UPDATE
), covering AS (
  SELECT id FROM purse
  JOIN (SELECT wallet, sum(amount) AS total, max(created) AS latest FROM spend GROUP BY wallet) AS claim ON wallet = id
  WHERE balance - total > floor AND (next_change_at IS NULL OR next_change_at > latest) AND NOT EXISTS (
    SELECT FROM (
      SELECT CASE WHEN one ? 'percent' THEN reference * trunc((one->>'percent')::numeric) / 100
        ELSE (one->>'value')::numeric * 1000000 END AS level
      FROM jsonb_array_elements(thresholds) AS one
    ) AS threshold WHERE level < balance AND level >= balance - total)
), uncovered AS MATERIALIZED (
  SELECT spending FROM spend WHERE wallet NOT IN (SELECT id FROM covering)
)"""
AFTER_PURSES = "(SELECT count(*) FROM purse) >= 0 AND"
IS_COVERED = "AND (spending IS NULL OR spending NOT IN (SELECT spending FROM uncovered))"
# The spends, each with the credit that it leaves for the next: `available`, in millionths.
PAID = """, paid AS MATERIALIZED (
  SELECT spend.*, balance - floor - sum(amount) OVER (PARTITION BY wallet ORDER BY "case") AS available
  FROM spend JOIN purse ON purse.id = wallet
  WHERE {is_stored}
)"""
FACTS = """CASE WHEN available IS NULL THEN facts
      ELSE jsonb_set(facts, '{credits,remaining}', to_jsonb(trim_scale(available * 0.000001)::text)) END"""
CREDITS = 'LEFT JOIN (SELECT "case", available FROM paid WHERE last) AS credit ON credit."case" = entry.number'
SPENT = """
, spent AS (
  INSERT INTO analytics_walletentry (id, account_id, wallet_id, type, amount, decision_id, created)
  SELECT id, account, wallet, 'spend', -amount, decision, created FROM paid
), purses AS (
  UPDATE analytics_wallet SET balance = balance - total
  FROM (SELECT wallet, sum(amount)::bigint AS total FROM paid GROUP BY wallet) AS taken WHERE id = wallet
)"""
RESULTS = """, (SELECT json_agg(spending) FROM uncovered)::text,
       (SELECT json_agg(json_build_array("case", available)) FROM paid WHERE last)::text"""
