"""Search results for Ctrl+K: pages by title, and objects as in the search boxes of their lists."""

from collections.abc import Iterable, Iterator

from django.contrib.admin import AdminSite, ModelAdmin
from django.db.models import Model
from django.http import HttpRequest
from msgspec import Struct

from accounts.keys import keytext
from accounts.models import ApiKey
from kit.values import ids
from operators.access.key_pages import FIND_KEY_TITLE, may_find_keys
from operators.base.links import change_url, list_url
from operators.navigation import sidebar

MAX_HITS_OF_A_KIND = 5
MAX_TERM = 200  # characters


class SearchHit(Struct, frozen=True):
    title: str
    kind: str
    link: str


def find_anything(site: AdminSite, request: HttpRequest, term: str) -> list[SearchHit]:
    """Return the first results of each visible kind, exact ids first."""
    term = term.strip()[:MAX_TERM]
    if not term or "\0" in term:  # PostgreSQL text cannot contain NUL
        return []
    if keytext.shows_secret(term):
        return [SearchHit(FIND_KEY_TITLE, "page", list_url(ApiKey))] if may_find_keys(request) else []
    items = (item for section in sidebar(request) for item in section["items"])
    pages = [SearchHit(item["title"], "page", item["link"]) for item in items if term.lower() in item["title"].lower()]
    kinds = [model_admin for model_admin in site._registry.values() if model_admin.has_view_permission(request)]
    # `has_names = False`: rows without a name are found by their whole id only.
    searchable = [kind for kind in kinds if kind.search_fields and getattr(kind, "has_names", True)]
    results = list(pages)
    for kind in kinds:
        results += build_hits(kind, rows_with_id(kind, request, term))
    for kind in searchable:
        results += build_hits(kind, matching_rows(kind, request, term))
    return list({hit.link: hit for hit in results}.values())


def rows_with_id(kind: "ModelAdmin[Model]", request: HttpRequest, term: str) -> list[Model]:
    """Return the object with this id, if the id has the kind's format."""
    field = kind.model._meta.pk
    if not isinstance(field, ids.IdField) or ids.decode(field.prefix, term) is None:
        return []
    return list(kind.get_queryset(request).filter(pk=term))


def matching_rows(kind: "ModelAdmin[Model]", request: HttpRequest, term: str) -> list[Model]:
    try:
        return list(kind.get_search_results(request, kind.get_queryset(request), term)[0][:MAX_HITS_OF_A_KIND])
    except ValueError:  # an invalid id
        return []


def build_hits(kind: "ModelAdmin[Model]", objects: Iterable[Model]) -> Iterator[SearchHit]:
    for row in objects:
        yield SearchHit(str(row), str(kind.opts.verbose_name), change_url(row))
