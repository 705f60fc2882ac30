"""A bulk request leaves PostgreSQL with statistics, so that look-ups need not wait for autovacuum to be fast."""

import pytest
from django.db import connection

from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.requesters.models import Requester
from tests import factories
from tests.client import ApiClient

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite chooses the index without statistics."),
]
ROWS = 100
TABLES = ("licensing_content", "licensing_license", "licensing_requester")


def execute(*statements):
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


@pytest.fixture
def api():
    """A client whose tables have no statistics. Autovacuum is off for them."""
    execute(*(f"ALTER TABLE {table} SET (autovacuum_enabled = false)" for table in TABLES))
    execute(f"TRUNCATE {', '.join(TABLES)} CASCADE")
    yield ApiClient(factories.key_text(factories.account()))
    execute(*(f"ALTER TABLE {table} RESET (autovacuum_enabled)" for table in TABLES))


def rows_known(model):
    """The number of rows that the planner expects; -1 if it knows none."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [model._meta.db_table])
        return cursor.fetchone()[0]


@pytest.mark.parametrize("was_found_empty", [False, True])
def test_pages_are_found_by_their_key_right_after_a_bulk_request(api, was_found_empty):
    if was_found_empty:
        execute("ANALYZE licensing_content")
    rows = [{"title": f"Page {n}", "source": f"https://pub.example/{n}"} for n in range(5 * ROWS)]
    api.post("/v1/content/bulk", {"items": rows})
    item = Content.objects.last()
    named = Content.objects.kept().filter(account_id=item.account_id, page_key__in=[item.page_key])
    assert "content_by_page" in named.explain()


def test_licences_are_known_right_after_a_bulk_request(api):
    rows = [{"requesterId": f"org_{n}", "licenseType": "commercial"} for n in range(ROWS)]
    api.post("/v1/licenses/bulk", {"items": rows})
    assert rows_known(License) == rows_known(Requester) == ROWS


def test_a_few_rows_are_left_to_autovacuum(api):
    """A planner that knows of three rows would expect few of the thousands that follow."""
    api.post("/v1/content/bulk", {"items": [{"title": f"Page {n}"} for n in range(3)]})
    assert rows_known(Content) == -1
