import re
from datetime import timedelta

import orjson
import pytest
from django.core.exceptions import FieldDoesNotExist
from django.db import connection
from django.http import QueryDict
from django.utils import timezone

from analytics.ledger.filters import LedgerFilters
from analytics.models import AccessEvent, Entry, LedgerEntry
from config.asgi import view_at
from kit.rest.filters import given_filters
from kit.rest.lists.windows import WindowedPagination
from kit.storage.summaries import summarize_new_blocks
from licensing.access.selected_decisions import SelectedDecisions
from licensing.content.models import Content
from licensing.content.views import ContentFilters
from tests import factories
from tests.conventions.endpoints import ENDPOINTS

VIEWS = [
    view
    for view in (view_at(one.path).cls for one in ENDPOINTS if one.method == "GET" and one.is_exportable_list)
    if issubclass(view.pagination_class, WindowedPagination)
]
FILTERS = [(view.queryset.model, name, one) for view in VIEWS for name, one in view.filterset_class.operands.items()]
BY_REASON = {"allowed"}  # a decision is allowed if it has no reason


def column_of(model, name, operand):
    """Return the column that a filter compares; of a recorded fact its name."""
    try:
        return model._meta.get_field((operand.field_name or name).partition("__")[0]).column
    except FieldDoesNotExist:
        return name


pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no windows"),
]


def table_of(model):
    """Return the table that has a model's rows: that of entries for its view of charges."""
    return (Entry if model is LedgerEntry else model)._meta.db_table


@pytest.mark.parametrize(
    ("model", "name", "operand"), FILTERS, ids=[f"{model._meta.model_name} {name}" for model, name, _ in FILTERS]
)
def test_a_filter_has_an_index(model, name, operand):
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE tablename = %s", [table_of(model)])
        definitions = " ".join(text for (text,) in cursor.fetchall())
    assert name in BY_REASON or re.search(rf"\b{column_of(model, name, operand)}\b", definitions)


@pytest.fixture
def new_blocks(db):
    """Empty the tables for this test: rows that other tests rolled back remain in the blocks and their summaries."""
    with connection.cursor() as cursor:
        for model in (Content, LedgerEntry, AccessEvent):
            cursor.execute(f"ALTER TABLE {table_of(model)} DISABLE TRIGGER USER")
            cursor.execute(f"TRUNCATE {table_of(model)} CASCADE")


def blocks_read(rows):
    """Return how many blocks PostgreSQL reads, if it can use an index at all."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_indexscan = off")
    [plan] = orjson.loads(rows.explain(format="json", analyze=True))
    scans = plan["Plan"]["Plans"] if plan["Plan"]["Node Type"] == "Append" else [plan["Plan"]]
    assert {scan["Node Type"] for scan in scans} == {"Bitmap Heap Scan"}
    return sum(scan["Lossy Heap Blocks"] for scan in scans)


def create_summarised(model, account, **alike):
    model.objects.bulk_create(model(account=account, **alike) for _ in range(3_000))
    summarize_new_blocks()


def assert_nothing_is_read(filters, rows, queries):
    read = {}
    for query in queries:
        [(one, value)] = given_filters(filters, QueryDict(query))
        read[query] = blocks_read(one.filter(rows, value))
    assert read == dict.fromkeys(queries, 0)


def test_blocks_without_a_matching_item_are_not_read(new_blocks, account):
    moment = timezone.now() - timedelta(days=30)
    create_summarised(Content, account, title="Item", author="Ada", word_count=500, created=moment, updated=moment)
    queries = [
        "type=dataset", "status[ne]=active", "metadata.author=Bob", "metadata.author[ne]=Ada",
        "metadata.category[exists]=true", "metadata.wordCount[gt]=1000", "updated[lt]=2020-01-01",
    ]  # fmt: skip
    assert_nothing_is_read(ContentFilters, Content._base_manager.all(), queries)


def test_blocks_without_a_matching_entry_are_not_read(new_blocks, account):
    alike = {"type": "usage", "amount": 1, "currency": "EUR", "content": factories.content(account)}
    alike |= {"requester": factories.requester(account), "occurred_at": timezone.now()}
    create_summarised(LedgerEntry, account, **alike)
    queries = ["occurredAt[lt]=2020-01-01", "requesterId[exists]=false", "contentId[exists]=false", "type=adjustment"]
    assert_nothing_is_read(LedgerFilters, LedgerEntry.objects.all(), queries)


@pytest.mark.parametrize(
    ("decided", "queries"),
    [
        ({"allowed": True}, ["allowed=false", "reason=no_license", "reason[exists]=true", "policyId[exists]=true"]),
        ({"allowed": False, "reason": "no_license"}, ["allowed=false&reason[ne]=no_license"]),
    ],
    ids=["allowed", "denied"],
)
def test_blocks_without_a_matching_decision_are_not_read(new_blocks, account, decided, queries):
    alike = {"content": factories.content(account), "requester": factories.requester(account), **decided}
    create_summarised(AccessEvent, account, facts={}, created=timezone.now(), **alike)
    read = {}
    for query in queries:
        selected = SelectedDecisions.from_query(account.pk, QueryDict(query))
        read[query] = blocks_read(selected.filter(AccessEvent.objects.all()))
    assert read == dict.fromkeys(queries, 0)
