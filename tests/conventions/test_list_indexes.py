"""Each filter of a list that is read in windows has an index or a summary, which finds rare values (PostgreSQL)."""

import re
from datetime import timedelta

import orjson
import pytest
from django.core.exceptions import FieldDoesNotExist
from django.db import connection
from django.http import QueryDict
from django.utils import timezone

from kit.rest.filters import given_filters
from kit.rest.heavy import view_at
from kit.rest.lists.windows import WindowedPagination
from licensing.content.filters import ContentFilters
from licensing.content.models import Content
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


@pytest.mark.parametrize(
    ("model", "name", "operand"), FILTERS, ids=[f"{model._meta.model_name} {name}" for model, name, _ in FILTERS]
)
def test_a_filter_has_an_index(model, name, operand):
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE tablename = %s", [model._meta.db_table])
        definitions = " ".join(text for (text,) in cursor.fetchall())
    assert name in BY_REASON or re.search(rf"\b{column_of(model, name, operand)}\b", definitions)


@pytest.fixture
def like_items(account):
    """Items that fill several of a summary's block ranges, all alike."""
    moment = timezone.now() - timedelta(days=30)
    alike = {"title": "Item", "author": "Ada", "word_count": 500, "created": moment, "updated": moment}
    Content.objects.bulk_create(Content(account=account, **alike) for _ in range(3_000))
    with connection.cursor() as cursor:
        cursor.execute("SELECT brin_summarize_new_values('content_summary')")
        cursor.execute("SET LOCAL enable_seqscan = off")


@pytest.mark.parametrize(
    "query",
    [
        "type=dataset",
        "status[ne]=active",
        "metadata.author=Bob",
        "metadata.author[ne]=Ada",
        "metadata.category[exists]=true",
        "metadata.wordCount[gt]=1000",
        "updated[lt]=2020-01-01",
    ],
)
def test_blocks_without_a_matching_item_are_not_read(like_items, query):
    [(one, value)] = given_filters(ContentFilters, QueryDict(query))
    found = one.filter(Content._base_manager.all(), value)
    [plan] = orjson.loads(found.explain(format="json", analyze=True))
    assert plan["Plan"]["Node Type"] == "Bitmap Heap Scan"
    assert plan["Plan"]["Lossy Heap Blocks"] == 0
