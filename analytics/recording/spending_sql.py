"""Spending from wallets in the statement that records the decisions.

The statement spends only what needs no further work: nothing is due in the wallet, it covers what all decisions of the
batch take, and its balance passes no threshold. Requests that take from another wallet are not stored; they are
decided one by one in a transaction (licensing.access.charging.paying), which applies what is due and writes events.

Wallets that one request spends from form a pool, together with those of other requests that share one. A pool pays for
all of its requests in the batch, or for none. So what the batch takes from a wallet before each decision is known
before the statement runs.
"""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from kit.storage.postgresql.async_postgres import Parameter


class Spend(Struct, frozen=True, gc=False):
    """An amount in millionths that a decision takes from a wallet, which is named by its UUID in hex."""

    wallet: str
    unit: str
    amount: int


class Spending(Struct, eq=False, frozen=True, gc=False):
    """Identifies a request that spends: its decisions are stored if all of its wallets pay."""

    wallets: tuple[str, ...]


class PurseClaim(Struct, gc=False):
    """The total that a batch takes from a wallet, in millionths. The wallets of a batch are numbered from 0.

    Those with the same `pool` pay together or not at all.
    """

    number: int
    wallet: str
    pool: int
    total: int = 0


class SpendOfCase(Struct, gc=False):
    """A spend of a case in a batch. `id` is the UUID of its wallet entry in hex, `purse` the number of its wallet."""

    id: str
    case: int
    purse: int
    amount: int


def as_array(numbers: Iterable[int]) -> str:
    """Return PostgreSQL's text of an array of numbers."""
    return f"{{{','.join(map(str, numbers))}}}"


def columns_of_purses(purses: Collection[PurseClaim]) -> list[Parameter]:
    return [
        [purse.wallet for purse in purses],
        as_array(purse.total for purse in purses),
        as_array(purse.pool for purse in purses),
    ]


def columns_of_spends(spends: Sequence[SpendOfCase]) -> list[Parameter]:
    return [
        [spend.id for spend in spends],
        as_array(spend.case for spend in spends),
        as_array(spend.purse for spend in spends),
        as_array(spend.amount for spend in spends),
    ]


# Whether a wallet pays a total without further work, at the latest moment of the decisions. A null `notice_at`, which
# nothing has computed yet, is further work.
COVERS = """balance - {total} > floor AND balance - {total} > notice_at
    AND (next_change_at IS NULL OR next_change_at > {latest})"""
# Locks the wallets first, in the order of their ids, as every transaction does that spends. `purse` has the rows as
# they are once they are locked. A total may exceed 64 bits.
PURSES = """, claimed_purse AS MATERIALIZED (
  SELECT * FROM unnest(%s::uuid[], %s::numeric[], %s::int[]) WITH ORDINALITY AS claim (wallet, total, pool, place)
), purse AS MATERIALIZED (
  SELECT id, account_id, requester_id, balance, floor, notice_at, next_change_at FROM analytics_wallet
  WHERE id = ANY (ARRAY(SELECT wallet FROM claimed_purse)) ORDER BY id FOR NO KEY UPDATE
)"""
AFTER_PURSES = "(SELECT count(*) FROM purse) >= 0 AND"
# The wallets that pay, each with the `credit` that it has before the batch, in millionths.
PAYING = f""", covering AS MATERIALIZED (
  SELECT place - 1 AS payer, pool, wallet, account_id, requester_id, total::bigint AS total, balance - floor AS credit
  FROM claimed_purse JOIN purse ON id = wallet
  WHERE {COVERS.format(total="total", latest="(SELECT max(created) FROM alike)")}
), paying AS MATERIALIZED (
  SELECT * FROM covering WHERE account_id NOT IN (SELECT account FROM stale) AND pool NOT IN (
    SELECT pool FROM claimed_purse WHERE wallet NOT IN (SELECT wallet FROM covering))
)"""  # noqa: S608 - made of constants
IS_PAID = "AND (purse IS NULL OR payer IS NOT NULL)"
FACTS = """CASE WHEN taken IS NULL THEN facts
      ELSE jsonb_set(facts, '{credits,remaining}', to_jsonb(trim_scale((credit - taken) * 0.000001)::text)) END"""
PAYERS = "LEFT JOIN paying ON payer = purse"
SPENT = """
, spent AS (
  INSERT INTO analytics_walletentry (id, account_id, wallet_id, requester_id, type, amount, decision_id, created)
  SELECT spend.id, account, wallet, requester_id, 'spend', -amount, ids[1], created
  FROM unnest(%s::uuid[], %s::int[], %s::int[], %s::bigint[]) AS spend (id, "case", purse, amount)
  JOIN paying ON payer = spend.purse JOIN alike ON number = "case"
), purses AS (
  UPDATE analytics_wallet SET balance = balance - total FROM paying WHERE id = wallet
)"""
RESULTS = ", (SELECT json_agg(json_build_array(payer, credit)) FROM paying)::text"
