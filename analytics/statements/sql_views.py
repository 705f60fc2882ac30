"""SQL of the database views of statements: closed months from their tables, open ones summed up from the ledger."""

from datetime import date, datetime
from functools import lru_cache

from django.db.backends.base.base import BaseDatabaseWrapper

from analytics.models.entries import KIND, Side, moved_into
from analytics.models.revenue import EntryType
from analytics.models.statements import ClosedLine, ClosedStatement
from kit.values.calendar import first_of_month, zone_named

LINE_COLUMNS = ", ".join(field.attname for field in ClosedLine._meta.concrete_fields)
STATEMENT_COLUMNS = ", ".join(
    field.attname for field in ClosedStatement._meta.concrete_fields if field.name != "closed_at"
)
MONTH_OF = "month_of_account"  # a function that SQLite's connections have: that of kit.values.calendar.Months

# SQL that differs by vendor, such as the first entry's id, its month, and a statement's id. The latter has 2 bytes for
# the month's number, 6 for the unit, padded with zeros, and 8 for the requester's number or, for entries without a
# requester, the end of the account's id, whose first bit is always set. So ids sort by month.
SQL_OF_VENDOR = {
    "postgresql": {
        "first_id": 'min(entry.id::text COLLATE "C")::uuid',
        "month": """CASE WHEN account.time_zone_since IS NULL OR entry.created >= account.time_zone_since
    THEN date_trunc('month', entry.created AT TIME ZONE account.time_zone)::date
    ELSE least(date_trunc('month', entry.created AT TIME ZONE account.former_time_zone)::date,
      (date_trunc('month', account.time_zone_since AT TIME ZONE account.time_zone) - interval '1 month')::date) END""",
        "never": "'-infinity'::timestamptz",
        "subject": "(entry.license_id, entry.license_type, entry.content_id)",
        "count": "::bigint",
        "null_moment": "NULL::timestamptz",
        "statement_id": """(lpad(to_hex((extract(year FROM month) * 12 + extract(month FROM month) - 1)::int), 4, '0')
    || rpad(encode(convert_to(currency, 'UTF8'), 'hex'), 12, '0')
    || coalesce(lpad(to_hex(requester_id), 16, '0'), right(replace(account_id::text, '-', ''), 16)))::uuid""",
    },
    "sqlite": {
        "first_id": "min(entry.id)",
        "month": f"""CASE WHEN account.time_zone = 'UTC' AND account.time_zone_since IS NULL
    THEN substr(entry.created, 1, 7) || '-01'
    ELSE {MONTH_OF}(entry.created, account.time_zone, account.former_time_zone, account.time_zone_since) END""",
        "never": "''",
        "subject": "quote(entry.license_id) || quote(entry.license_type) || quote(entry.content_id)",
        "count": "",
        "null_moment": "NULL",
        "statement_id": """lower(printf('%04x', substr(month, 1, 4) * 12 + substr(month, 6, 2) - 1)
    || substr(hex(currency) || '000000', 1, 12)
    || CASE WHEN requester_id IS NULL THEN hex(substr(account_id, 9)) ELSE printf('%016x', requester_id) END)""",
    },
}
# Accounts with their open months. Bounds of `created` by account are for the index ledger_newest_first.
ACCOUNTS_WITH_BOOKS = "accounts_account account LEFT JOIN analytics_statementbook book ON book.account_id = account.id"
OPEN_ENTRIES = f"""{ACCOUNTS_WITH_BOOKS}
    JOIN analytics_entry entry
      ON entry.account_id = account.id AND entry.created >= coalesce(book.closed_until, {{never}})"""
OPEN_CREDIT = f"""{ACCOUNTS_WITH_BOOKS}
    JOIN analytics_wallet wallet ON wallet.account_id = account.id
    JOIN analytics_walletentry entry
      ON entry.wallet_id = wallet.id AND entry.created >= coalesce(book.closed_until, {{never}})"""
CHARGES = f"entry.type IN {tuple(EntryType.values)}"
OPEN_LINES = f"""
CREATE VIEW analytics_openline AS
SELECT {{first_id}} AS id, account.id AS account_id, entry.requester_id, {{month}} AS month, entry.currency,
  entry.type, entry.license_id, entry.license_type, entry.content_id, sum(entry.amount) AS amount, count(*) AS entries,
  min(entry.description) AS description, min(entry.occurred_at) AS occurred_at, min(entry.created) AS created,
  max(entry.created) AS latest
FROM {OPEN_ENTRIES} AND {CHARGES}
GROUP BY account.id, entry.requester_id, {{month}}, entry.currency, entry.type, entry.license_id, entry.license_type,
  entry.content_id, CASE WHEN entry.type <> 'usage' THEN entry.id END"""  # noqa: S608 - made of constants
# Entries and changes of wallets in open months, by kind, refunds apart. No two tables share a kind. `lines` are those
# of OPEN_LINES, which are counted here because their groups take longer than the sums.
SUMS_BY_KIND = f"""
    SELECT account.id AS account_id, entry.requester_id, {{month}} AS month, entry.currency, {KIND} AS kind,
      sum(entry.amount) AS amount, count(*) AS entries,
      count(*) FILTER (WHERE {CHARGES} AND entry.type <> 'usage')
        + count(DISTINCT {{subject}}) FILTER (WHERE entry.type = 'usage') AS lines
    FROM {OPEN_ENTRIES}
    GROUP BY 1, 2, 3, 4, 5, entry.amount < 0
    UNION ALL
    SELECT account.id, entry.requester_id, {{month}}, wallet.unit, entry.type, sum(entry.amount), 0, 0
    FROM {OPEN_CREDIT}
    GROUP BY 1, 2, 3, 4, 5"""  # noqa: S608 - made of constants
KINDS_OF_CREDIT = "'grant', 'carry', 'spend', 'expire', 'void', 'refund'"
# Each figure of a month is a sum over kinds.
FIGURES = {
    "licenses": "sum(amount) FILTER (WHERE kind = 'license')",
    "fees": "sum(amount) FILTER (WHERE kind = 'fee')",
    "usage": "sum(amount) FILTER (WHERE kind = 'usage')",
    "adjustments": "sum(amount) FILTER (WHERE kind = 'adjustment')",
    "total": f"-sum({moved_into(Side.REVENUE, 'kind')})",
    "refunds": "-sum(amount) FILTER (WHERE kind = 'adjustment' AND amount < 0)",
    "payments": "sum(amount) FILTER (WHERE kind = 'payment')",
    "payouts": "sum(amount) FILTER (WHERE kind = 'payout')",
    "paid_for_credit": "sum(amount) FILTER (WHERE kind = 'credit')",
    "owed": f"sum({moved_into(Side.OWED, 'kind')})",
    "granted": "sum(amount) FILTER (WHERE kind IN ('grant', 'carry'))",
    "spent": "-sum(amount) FILTER (WHERE kind = 'spend')",
    "expired": "-sum(amount) FILTER (WHERE kind IN ('expire', 'void'))",
    "refunded": "sum(amount) FILTER (WHERE kind = 'refund')",
    "wallets": f"count(*) FILTER (WHERE kind IN ({KINDS_OF_CREDIT}))",
    "decisions": "sum(entries) FILTER (WHERE kind = 'usage')",
    "lines": "sum(lines)",
}
FIGURE_COLUMNS = ", ".join(f"coalesce({sum_}, 0) AS {name}" for name, sum_ in FIGURES.items())
OF_ONE_REQUESTER_BY_MONTH = "PARTITION BY account_id, requester_id, currency ORDER BY month"
LAST_CLOSED = """coalesce((
      SELECT {0} FROM analytics_closedstatement former
      WHERE former.account_id = figures.account_id AND former.currency = figures.currency
        AND coalesce(former.requester_id, 0) = coalesce(figures.requester_id, 0)
      ORDER BY former.month DESC LIMIT 1), 0)"""
OPEN_STATEMENTS = f"""
CREATE VIEW analytics_openstatement AS
SELECT {{statement_id}} AS id, account_id, requester_id, month, currency, before + earlier AS opening, licenses, fees,
  usage, adjustments, total, refunds, payments, payouts, paid_for_credit,
  before + earlier + owed AS closing,
  credit_before + credit_earlier AS credit_opening, granted AS credit_granted, spent AS credit_spent,
  expired AS credit_expired, refunded AS credit_refunded,
  credit_before + credit_earlier + granted - spent - expired + refunded AS credit_closing,
  wallets + credit_before + credit_earlier <> 0 AS has_wallet,
  decisions{{count}} AS decisions, lines{{count}} AS lines
FROM (
  SELECT figures.*, {LAST_CLOSED.format("closing")} AS before, {LAST_CLOSED.format("credit_closing")} AS credit_before,
    sum(owed) OVER ({OF_ONE_REQUESTER_BY_MONTH}) - owed AS earlier,
    sum(granted - spent - expired + refunded) OVER ({OF_ONE_REQUESTER_BY_MONTH})
      - granted + spent + expired - refunded AS credit_earlier
  FROM (
    SELECT account_id, requester_id, month, currency, {FIGURE_COLUMNS}
    FROM ({SUMS_BY_KIND}
    ) entries
    GROUP BY account_id, requester_id, month, currency
  ) figures
) balanced"""  # noqa: S608 - made of constants
LINES = f"""
CREATE VIEW analytics_statementline AS
SELECT {LINE_COLUMNS} FROM analytics_closedline
UNION ALL SELECT {LINE_COLUMNS} FROM analytics_openline"""  # noqa: S608 - made of constants
STATEMENTS = f"""
CREATE VIEW analytics_statement AS
SELECT {STATEMENT_COLUMNS}, closed_at FROM analytics_closedstatement
UNION ALL SELECT {STATEMENT_COLUMNS}, {{null_moment}} FROM analytics_openstatement"""  # noqa: S608

BALANCE_CHANGES = f"""
CREATE VIEW analytics_balancechange AS
SELECT account_id, requester_id, currency, closing - opening AS owed, total AS revenue,
  credit_closing - credit_opening AS credit
FROM analytics_closedstatement
UNION ALL SELECT account.id, entry.requester_id, entry.currency, sum({moved_into(Side.OWED)}),
  -sum({moved_into(Side.REVENUE)}), 0
FROM {OPEN_ENTRIES} GROUP BY 1, 2, 3
UNION ALL SELECT account.id, entry.requester_id, wallet.unit, 0, 0, sum(entry.amount)
FROM {OPEN_CREDIT} GROUP BY 1, 2, 3"""  # noqa: S608
# By name, in the order of their creation: later ones read earlier ones.
VIEWS = {
    "analytics_openline": OPEN_LINES,
    "analytics_statementline": LINES,
    "analytics_openstatement": OPEN_STATEMENTS,
    "analytics_statement": STATEMENTS,
    "analytics_balancechange": BALANCE_CHANGES,
}


def add_functions(connection: BaseDatabaseWrapper, **options: object) -> None:
    """Give a new connection to SQLite the function that the views use."""
    connection.connection.create_function(MONTH_OF, 4, month_of_account, deterministic=True)


def month_of_account(created: str, zone: str, former: str | None, since: str | None) -> str:
    """Return the first day of the month to which a moment belongs, as texts of SQLite."""
    if former is None or since is None or created >= since:
        return month_of_minute(created[:16], zone)
    last = first_of_month(local_date(since[:16], zone), -1)
    return min(month_of_minute(created[:16], former), f"{last:%Y-%m-%d}")


@lru_cache(maxsize=10_000)
def month_of_minute(minute: str, zone: str) -> str:
    return f"{first_of_month(local_date(minute, zone)):%Y-%m-%d}"


def local_date(minute: str, zone: str) -> date:
    return datetime.fromisoformat(f"{minute}+00:00").astimezone(zone_named(zone)).date()
