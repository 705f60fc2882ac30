"""Database views of statements: closed months from their tables, open ones summed up from the ledger.

SQLite cannot rename a table used by a view, and PostgreSQL cannot change its columns. So SQLite drops the views before
all migrations. PostgreSQL drops and restores them in the transaction of each migration that might do so, and replaces
them in one transaction afterwards: a running service always finds views.
"""

from collections.abc import Sequence
from datetime import date, datetime
from functools import lru_cache

from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.backends.utils import CursorWrapper
from django.db.migrations import AddConstraint, AddField, Migration, RunPython, RunSQL
from django.db.migrations.operations.models import IndexOperation
from django.db.migrations.state import StateApps

from analytics.models.entries import KIND, Side, moved_into
from analytics.models.revenue import EntryType
from analytics.models.statements import ClosedLine, ClosedStatement
from kit.storage.lock_waits import until_unlocked
from kit.storage.row_changes import ChangeRows
from kit.values.calendar import first_of_month, zone_named

HARMLESS = (AddField, AddConstraint, IndexOperation, ChangeRows)  # unless they are undone
Plan = Sequence[tuple[Migration, bool]]  # with whether it is undone

LINE_COLUMNS = ", ".join(field.attname for field in ClosedLine._meta.concrete_fields)
STATEMENT_COLUMNS = ", ".join(
    field.attname for field in ClosedStatement._meta.concrete_fields if field.name != "closed_at"
)
TABLES = {
    "accounts_account",
    "analytics_entry",
    "analytics_ledgerentry",  # views of entries, as the next two names in earlier migrations are tables
    "analytics_payment",
    "analytics_walletentry",
    "analytics_statementbook",
    "analytics_closedstatement",
    "analytics_closedline",
}
NAMES = (
    "analytics_balancechange",
    "analytics_statement",
    "analytics_openstatement",
    "analytics_statementline",
    "analytics_openline",
)

MONTH_OF = "month_of_account"  # a function that SQLite's connections have: that of kit.values.calendar.Months

# SQL that differs by vendor, such as the first entry's id, its month, and a statement's id. The latter has 2 bytes for
# the month's number, 6 for the unit, padded with zeros, and 8 for the requester's number or, for entries without a
# requester, the end of the account's id, whose first bit is always set. So ids sort by month.
PARTS = {
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
OPEN = "accounts_account account LEFT JOIN analytics_statementbook book ON book.account_id = account.id"
OPEN_ENTRIES = f"""{OPEN}
    JOIN analytics_entry entry
      ON entry.account_id = account.id AND entry.created >= coalesce(book.closed_until, {{never}})"""
OPEN_CREDIT = f"""{OPEN}
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
# Entries and changes of wallets in open months, by kind. No two tables share a kind. `lines` are those of OPEN_LINES,
# which are counted here because their groups take longer than the sums.
ENTRIES = f"""
    SELECT account.id AS account_id, entry.requester_id, {{month}} AS month, entry.currency, {KIND} AS kind,
      sum(entry.amount) AS amount, count(*) AS entries,
      count(*) FILTER (WHERE {CHARGES} AND entry.type <> 'usage')
        + count(DISTINCT {{subject}}) FILTER (WHERE entry.type = 'usage') AS lines
    FROM {OPEN_ENTRIES}
    GROUP BY 1, 2, 3, 4, 5
    UNION ALL
    SELECT account.id, entry.requester_id, {{month}}, wallet.unit, entry.type, sum(entry.amount), 0, 0
    FROM {OPEN_CREDIT}
    GROUP BY 1, 2, 3, 4, 5"""  # noqa: S608 - made of constants
CREDIT = "'grant', 'carry', 'spend', 'expire', 'void', 'refund'"
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
    "wallets": f"count(*) FILTER (WHERE kind IN ({CREDIT}))",
    "decisions": "sum(entries) FILTER (WHERE kind = 'usage')",
    "lines": "sum(lines)",
}
SUMS = ", ".join(f"coalesce({sum_}, 0) AS {name}" for name, sum_ in FIGURES.items())
SAME = "PARTITION BY account_id, requester_id, currency ORDER BY month"
FORMER = """coalesce((
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
  SELECT figures.*, {FORMER.format("closing")} AS before, {FORMER.format("credit_closing")} AS credit_before,
    sum(owed) OVER ({SAME}) - owed AS earlier,
    sum(granted - spent - expired + refunded) OVER ({SAME})
      - granted + spent + expired - refunded AS credit_earlier
  FROM (
    SELECT account_id, requester_id, month, currency, {SUMS}
    FROM ({ENTRIES}
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


def drop_views(using: str = "default", plan: Plan = (), **options: object) -> None:
    """Drop the views before migrations that may change columns of their tables, if possible only for each of them."""
    connection = connections[using]
    is_postgresql = connection.vendor == "postgresql"
    changing = [one for one in plan if changes_tables([one]) or not is_postgresql]
    if is_postgresql and all(migration.atomic and not is_undone for migration, is_undone in changing):
        for migration, _ in changing:
            without_views(migration)
    elif changing:
        with connection.cursor() as cursor:
            drop_all(cursor)


def without_views(migration: Migration) -> None:
    """Let a migration drop the views first and restore them last, in its transaction."""
    definitions: dict[str, str] = {}

    def drop(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(
                "SELECT viewname, definition FROM pg_views WHERE schemaname = current_schema() AND viewname = ANY(%s)",
                [list(NAMES)],
            )
            definitions.update(cursor.fetchall())
            drop_all(cursor)

    def restore(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        with schema_editor.connection.cursor() as cursor:
            for name in reversed(NAMES):
                if name in definitions:
                    cursor.execute(f"CREATE VIEW {name} AS {definitions[name]}")

    vars(migration)["operations"] = [RunPython(drop), *migration.operations, RunPython(restore)]


def changes_tables(plan: Plan) -> bool:
    """Whether migrations change columns of a table that the views read, or run code of this app, which might."""
    return any(
        migration.app_label == "analytics"
        if isinstance(operation, RunPython | RunSQL)
        else f"{migration.app_label}_{getattr(operation, 'model_name', '').lower()}" in TABLES
        for migration, is_undone in plan
        for operation in migration.operations
        if is_undone or not isinstance(operation, HARMLESS)
    )


def make_views(using: str = "default", plan: Plan = (), **options: object) -> None:
    """Create the views after migrations, or replace them. Does nothing unless their tables exist."""
    connection = connections[using]
    with connection.cursor() as cursor:
        there = {one.name for one in connection.introspection.get_table_list(cursor)}
    if ("analytics_statement" in there and not plan) or not there >= TABLES:
        return

    def replace_all() -> None:
        with transaction.atomic(using=using), connection.cursor() as cursor:
            drop_all(cursor)
            for view in (OPEN_LINES, LINES, OPEN_STATEMENTS, STATEMENTS, BALANCE_CHANGES):
                cursor.execute(view.format(**PARTS[connection.vendor]))

    until_unlocked(replace_all)


def drop_all(cursor: CursorWrapper) -> None:
    for name in NAMES:
        cursor.execute(f"DROP VIEW IF EXISTS {name}")
