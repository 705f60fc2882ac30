"""Each table, unique key, number and view belongs to one account, or is listed: what decision record 11 rests on."""

import pytest
from django.db import connection

from tests import account_tables
from tests.account_tables import FOUND_THROUGH, TABLES, UNIQUE_WITHOUT_ACCOUNT, WITHOUT_ACCOUNT

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL can be several servers"),
]

UNIQUE_KEYS = """
SELECT of.relname, key.relname, indisprimary,
  array_agg(attname::text ORDER BY attname), array_agg(atttypid::regtype::text ORDER BY attname)
FROM pg_index JOIN pg_class key ON key.oid = indexrelid JOIN pg_class of ON of.oid = indrelid
JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
WHERE indisunique AND of.relnamespace = 'public'::regnamespace AND NOT of.relispartition
  AND of.relname !~ '^iceberg_'
GROUP BY 1, 2, 3"""
FOREIGN_KEYS = """
SELECT conrelid::regclass::text, confrelid::regclass::text, array_agg(attname::text)
FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = ANY (conkey)
WHERE contype = 'f' AND connamespace = 'public'::regnamespace AND conparentid = 0 GROUP BY pg_constraint.oid, 1, 2"""
SEQUENCES = """
SELECT refobjid::regclass::text, format_type(seqtypid, NULL)
FROM pg_sequence JOIN pg_depend ON objid = seqrelid AND deptype IN ('a', 'i')"""
VIEWS = """
SELECT view.relname, of.relname, EXISTS (
  SELECT FROM pg_attribute WHERE attrelid = view.oid AND attname = 'account_id')
FROM pg_class view JOIN pg_rewrite ON ev_class = view.oid
JOIN pg_depend ON objid = pg_rewrite.oid AND pg_depend.classid = 'pg_rewrite'::regclass
JOIN pg_class of ON of.oid = refobjid AND of.oid <> view.oid
WHERE view.relkind IN ('v', 'm') AND view.relnamespace = 'public'::regnamespace GROUP BY 1, 2, 3"""
TRIGGERS = "SELECT DISTINCT tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal"


def rows(query):
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetchall()


@pytest.fixture(scope="module")
def of_accounts(django_db_setup, django_db_blocker):
    """Tables with rows of accounts."""
    with django_db_blocker.unblock():
        return {table for table, _ in rows(TABLES)} - WITHOUT_ACCOUNT


def test_a_table_names_its_account_or_is_listed():
    unnamed = {table for table, has_column in rows(TABLES) if not has_column} - {"accounts_account"}
    listed = WITHOUT_ACCOUNT | FOUND_THROUGH
    assert unnamed - listed == set(), "Add the column account_id, or list the table in tests/account_tables.py."
    assert listed - unnamed == {"accounts_staffscope_accounts"}
    print(f"tables: {len(rows(TABLES))}, {len(WITHOUT_ACCOUNT)} without accounts, {len(FOUND_THROUGH)} name none")


def test_a_unique_key_has_the_account_or_is_unique_over_all_servers(of_accounts):
    keys = [row for row in rows(UNIQUE_KEYS) if row[0] in of_accounts and "account_id" not in row[3]]
    random = [key for table, key, is_primary, _, types in keys if is_primary and types == [account_tables.RANDOM]]
    numbers = {table for table, _, is_primary, _, types in keys if is_primary and types == ["bigint"]}
    others = {key for table, key, is_primary, _, _ in keys if not is_primary}
    assert others == UNIQUE_WITHOUT_ACCOUNT
    assert len(random) + len(numbers) + len(others) == len(keys)
    print(f"unique keys without the account: {len(random)} UUIDs, {len(numbers)} numbers, {len(others)} others")


def test_a_foreign_key_stays_among_the_rows_of_accounts(of_accounts):
    keys = rows(FOREIGN_KEYS)
    leaving = {(table, target) for table, target, _ in keys if (table in of_accounts) != (target in of_accounts)}
    assert leaving == {("accounts_staffscope_accounts", "accounts_account")}
    within = [columns for table, target, columns in keys if table in of_accounts and target != "accounts_account"]
    assert all("account_id" not in columns for columns in within)
    to_account = [table for table, target, _ in keys if table in of_accounts and target == "accounts_account"]
    print(f"foreign keys: {len(to_account)} to the account, {len(within)} between its rows, which do not name it")


def test_a_number_of_an_account_has_64_bits(of_accounts):
    """A server can then take its numbers from a range of its own."""
    numbered = {table: kind for table, kind in rows(SEQUENCES) if table in of_accounts}
    assert set(numbered.values()) == {"bigint"}
    referred = {target for _, target, _ in rows(FOREIGN_KEYS) if target in numbered}
    assert referred == account_tables.NUMBERS_THAT_ROWS_REFER_TO
    print(f"sequences: {len(numbered)} of accounts' tables, {len(rows(SEQUENCES)) - len(numbered)} of others")


def test_a_view_shows_the_rows_of_accounts_with_the_account(of_accounts):
    views = {view for view, _, _ in rows(VIEWS)}
    for view, source, has_account in rows(VIEWS):
        assert has_account, view
        assert source in of_accounts | views, view
    print(f"views: {len(views)}; tables with triggers: {', '.join(sorted(table for (table,) in rows(TRIGGERS)))}")
