"""What the search boxes find. Each way has an index of its own on PostgreSQL (migration 0005_search_indexes)."""

from typing import Any

from django.db.models import Q, QuerySet

from config.api import ids
from licensing.models import Content, License, Requester


def find_content(items: QuerySet[Content], term: str) -> QuerySet[Content]:
    """By the whole id, the beginning of the external id, or the beginnings of all words in the title."""
    term = term.strip()
    if not term:
        return items
    if ids.decode("cnt", term) is not None:
        return items.filter(Q(pk=term) | Q(external_id=term))
    return items.filter(Q(external_id__startswith=term) | Q(title__has_words=term))


def find_requesters(requesters: QuerySet[Requester], term: str) -> QuerySet[Requester]:
    """By the beginning of the caller's own id, or the beginnings of all words in the name."""
    term = term.strip()
    if not term:
        return requesters
    return requesters.filter(Q(requester_id__startswith=term) | Q(name__has_words=term))


def find_licenses(licenses: QuerySet[License], term: str) -> QuerySet[License]:
    """By the whole id, or whose requester is found so."""
    term = term.strip()
    if not term:
        return licenses
    if ids.decode("lic", term) is not None:
        return licenses.filter(pk=term)
    return licenses.filter(requester__in=find_requesters(Requester.objects.all(), term))


def find_by_id(rows: QuerySet[Any], prefix: str, term: str) -> QuerySet[Any]:
    """The one with that id, whole; nothing for anything else."""
    term = term.strip()
    if not term:
        return rows
    return rows.filter(pk=term) if ids.decode(prefix, term) is not None else rows.none()
