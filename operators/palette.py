"""The results of Ctrl+K: pages by title, and objects by id or name, as the search box of their list finds them."""

from django.contrib.admin import AdminSite
from django.http import HttpRequest
from msgspec import Struct

from accounts.models import AuditEntry
from analytics.models import Statement
from operators.base.links import change_url
from operators.base.mixins import ModelT
from operators.base.model_admin import ScopedAdmin
from operators.navigation import sidebar

MOST_OF_A_KIND = 5
LONGEST = 200  # characters of a search
# An object's id would find hundreds of audit entries; open statements are added up from the ledger.
APART = (AuditEntry, Statement)


class Found(Struct, frozen=True):
    title: str
    kind: str
    link: str


def find(site: AdminSite, request: HttpRequest, term: str) -> list[Found]:
    """The first few results of each kind that the member of staff may see."""
    term = term.strip()[:LONGEST]
    if not term or "\0" in term:  # no text in PostgreSQL has one
        return []
    items = (item for section in sidebar(request) for item in section["items"])
    pages = [Found(item["title"], "page", item["link"]) for item in items if term.lower() in item["title"].lower()]
    kinds = [one for one in site._registry.values() if isinstance(one, ScopedAdmin) and one.model not in APART]
    return pages + [found for kind in kinds for found in of_kind(kind, request, term)]


def of_kind(shown: ScopedAdmin[ModelT], request: HttpRequest, term: str) -> list[Found]:
    if not shown.search_fields or not shown.has_view_permission(request):
        return []
    try:
        rows, _ = shown.get_search_results(request, shown.get_queryset(request), term)
        found = list(rows[:MOST_OF_A_KIND])
    except ValueError:  # from a text that cannot be an id
        return []
    return [Found(str(one), str(shown.opts.verbose_name), change_url(one)) for one in found]
