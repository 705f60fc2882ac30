"""The queries of the search boxes. Each has an index of its own on PostgreSQL (migration 0005_search_indexes)."""

from django.db.models import Q, QuerySet

from kit.values import ids
from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.requesters.models import Requester
from operators.base.lists.paging import BoundedPaginator
from operators.base.mixins import ModelT
from operators.base.scope import Scope

MOST = BoundedPaginator.MOST
MOST_REQUESTERS = 5


def find_content(items: QuerySet[Content], term: str) -> QuerySet[Content]:
    """By the whole id, the beginning of the external id, or the beginnings of all words in the title."""
    term = term.strip()
    if not term:
        return items
    if ids.decode("cnt", term) is not None:
        return items.filter(Q(pk=term) | Q(external_id=term))
    return either_way(items, Q(external_id__startswith=term), Q(title__has_words=term))


def find_requesters(requesters: QuerySet[Requester], term: str) -> QuerySet[Requester]:
    """By the beginning of the caller's own id, or the beginnings of all words in the name."""
    term = term.strip()
    if not term:
        return requesters
    return either_way(requesters, Q(requester_id__startswith=term), Q(name__has_words=term))


def either_way(rows: QuerySet[ModelT], by_id: Q, by_words: Q) -> QuerySet[ModelT]:
    """The rows that match either condition, newest first.

    Asked for both in this order PostgreSQL may go through the rows from the newest one on, hoping for a pageful soon:
    seven seconds where a million items end with those that match. So each condition is asked for what it finds, by its
    own index; and only for more than anybody leafs through the rows are gone through.
    """
    named, worded = bounded(rows, by_id), bounded(rows, by_words)
    if named.count() > MOST:
        return rows.filter(by_id)
    if worded.count() > MOST:
        return rows.filter(Q(pk__in=named) | by_words)
    all_rows = rows.model._base_manager.values("pk")
    return rows.filter(pk__in=all_rows.filter(pk__in=named).union(all_rows.filter(pk__in=worded)))


def bounded(rows: QuerySet[ModelT], condition: Q) -> QuerySet[ModelT, dict[str, object]]:
    """The keys of at most one more than MOST rows, in no order, so that an index finds them."""
    return rows.filter(condition).order_by().values("pk")[: MOST + 1]


def find_licenses(licenses: QuerySet[License], term: str) -> QuerySet[License]:
    """By the whole id, or whose requester is found so."""
    term = term.strip()
    if not term:
        return licenses
    if ids.decode("lic", term) is not None:
        return licenses.filter(pk=term)
    return licenses.filter(requester__in=find_requesters(Requester.objects.all(), term))


def of_requesters(rows: QuerySet[ModelT], scope: Scope, term: str) -> QuerySet[ModelT]:
    """The rows of the newest few requesters that the term finds: for lists that may have millions of rows."""
    found = find_requesters(scope.narrow(Requester.objects.all()), term)
    return rows.filter(requester__in=list(found.order_by("-pk").values_list("pk", flat=True)[:MOST_REQUESTERS]))


def find_by_id(rows: QuerySet[ModelT], prefix: str, term: str) -> QuerySet[ModelT]:
    """The one with that id, whole; nothing for anything else."""
    term = term.strip()
    if not term:
        return rows
    return rows.filter(pk=term) if ids.decode(prefix, term) is not None else rows.none()
