"""The queries of the search boxes.

Each has its own index on PostgreSQL (licensing/migrations/0005_search_indexes.py).
"""

import json
from collections.abc import Sequence

from django.contrib import messages
from django.db.models import Q, QuerySet
from django.db.models.expressions import RawSQL
from django.http import HttpRequest

from kit.storage.by_database import by_database
from kit.values import ids
from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.requesters.models import Requester
from operators.base.lists.change_list import BoundedPaginator
from operators.base.mixins import AdminMixin, ModelT
from operators.base.scope import request_scope

MAX_ROWS = BoundedPaginator.MAX_COUNT
MAX_PARAMETERS = 100


def find_content(items: QuerySet[Content], term: str) -> QuerySet[Content]:
    """Search by whole id, start of the external id, or starts of all words in the title."""
    if ids.decode("cnt", term) is not None:
        return items.filter(Q(pk=term) | Q(external_id=term))
    return match_id_or_words(items, Q(external_id__startswith=term), Q(title__has_words=term))


def find_requesters(requesters: QuerySet[Requester], term: str) -> QuerySet[Requester]:
    """Search by the start of the id, or starts of all words in the name."""
    return match_id_or_words(requesters, Q(requester_id__startswith=term), Q(name__has_words=term))


def match_id_or_words(rows: QuerySet[ModelT], by_id: Q, by_words: Q) -> QuerySet[ModelT]:
    """Return the rows that match either condition, newest first.

    Given both conditions and this order, PostgreSQL may scan rows from the newest, hoping to fill a page soon: seven
    seconds for a million items if the matches are old. So each condition first runs alone, by its own index; only if
    it finds more than anyone pages through, rows are scanned.
    """
    id_matches = first_keys(rows, by_id)
    if id_matches.count() > MAX_ROWS:
        return rows.filter(by_id)
    word_matches = first_keys(rows, by_words)
    if word_matches.count() > MAX_ROWS:
        return rows.filter(Q(pk__in=id_matches) | by_words)
    all_rows = rows.model._base_manager.values("pk")
    return rows.filter(pk__in=all_rows.filter(pk__in=id_matches).union(all_rows.filter(pk__in=word_matches)))


def first_keys(rows: QuerySet[ModelT], condition: Q) -> QuerySet[ModelT, dict[str, object]]:
    """Return the keys of up to MAX_ROWS + 1 rows, unsorted, so that an index finds them."""
    return rows.filter(condition).order_by().values("pk")[: MAX_ROWS + 1]


def find_licenses(licenses: QuerySet[License], term: str) -> QuerySet[License]:
    """Search by whole id, or by requester."""
    if ids.decode("lic", term) is not None:
        return licenses.filter(pk=term)
    return licenses.filter(requester__in=find_requesters(Requester.objects.all(), term))


class CustomerSearch(AdminMixin[ModelT]):
    """A list that is searched by whole id, or for the customers found, of which it takes the newest `most_customers`.

    With `has_own_numbers`, rows that have the term as `external_id` come in place of those of customers.
    """

    search_fields = ("pk",)
    has_names = False  # by requester, Ctrl+K would show the requester twice
    has_own_numbers = False
    most_customers = MAX_ROWS

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[ModelT], search_term: str
    ) -> tuple[QuerySet[ModelT], bool]:
        term = search_term.strip()
        prefix = ids.id_prefix(self.model)
        if ids.decode(prefix, term) is not None:
            queryset = queryset.filter(pk=term)
        elif term.startswith(f"{prefix}_"):
            queryset = queryset.none()
        elif term and self.has_own_numbers and (numbered := self.with_number(request, queryset, term)).exists():
            queryset = numbered
        elif term:
            requesters = find_requesters(request_scope(request).narrow(Requester.objects.all()), term)
            numbers = list(requesters.order_by("-pk").values_list("pk", flat=True)[: self.most_customers + 1])
            if len(numbers) > self.most_customers:
                newest = f"Only the {self.most_customers:,} newest of the customers that match are searched here."
                messages.warning(request, f"{newest} Narrow the search, or start from the customer's page.")
            numbers = numbers[: self.most_customers]
            # PostgreSQL looks only for the statements of few customers, but not of those in an array.
            queryset = queryset.filter(requester__in=numbers if len(numbers) <= MAX_PARAMETERS else in_array(numbers))
        return queryset, False

    def with_number(self, request: HttpRequest, queryset: QuerySet[ModelT], number: str) -> QuerySet[ModelT]:
        # Their index begins with the account.
        return queryset.filter(account__in=request_scope(request).accounts().values("pk"), external_id=number)


def in_array(numbers: Sequence[int]) -> RawSQL:
    """Return numbers for a lookup `__in` as a single parameter. Thousands of parameters are slow."""
    return by_database(
        postgresql=RawSQL("SELECT unnest(%s::bigint[])", (list(numbers),)),
        sqlite=RawSQL("SELECT value FROM json_each(%s)", (json.dumps(numbers),)),
    )
