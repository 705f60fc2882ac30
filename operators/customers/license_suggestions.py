"""What the fields of a licence's form suggest as one types: requesters, items, policies and tags of its account."""

from collections.abc import Callable, Iterable

from django.contrib.admin import AdminSite
from django.db.models import Model
from django.http import HttpRequest
from msgspec import Struct

from accounts.models import Account
from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.policies.models import Policy
from licensing.requesters.models import Requester
from operators.base.mixins import ModelT
from operators.base.model_admin import ScopedAdmin
from operators.base.scope import request_scope

MOST = 10
LONGEST = 200  # characters of what is looked for
MOST_TAGGED = 5_000  # of the newest items and licences, whose tags are known


class Suggestion(Struct, frozen=True):
    value: str
    label: str


def account_of(request: HttpRequest, account_id: str) -> Account | None:
    """The account of that id, if the operator may see it."""
    return request_scope(request).accounts().filter(pk=account_id).first() if account_id else None


def found(site: AdminSite, request: HttpRequest, model: type[ModelT], account: Account, term: str) -> Iterable[ModelT]:
    """The account's first few objects that the search box of their list finds."""
    shown = site._registry.get(model)
    if not isinstance(shown, ScopedAdmin) or not shown.has_view_permission(request):
        return []
    rows = shown.get_queryset(request).filter(**{shown.account_field: account.pk}).order_by("-pk")
    rows, _ = shown.get_search_results(request, rows, term)
    return rows[:MOST]


def items(site: AdminSite, request: HttpRequest, account: Account, term: str) -> list[Suggestion]:
    rows = found(site, request, Content, account, term)
    return [Suggestion(one.pk, " · ".join(filter(None, (one.title, one.external_id)))) for one in rows]


def policies(site: AdminSite, request: HttpRequest, account: Account, term: str) -> list[Suggestion]:
    return [Suggestion(one.pk, one.name) for one in found(site, request, Policy, account, term)]


def requesters(site: AdminSite, request: HttpRequest, account: Account, term: str) -> list[Suggestion]:
    """Those that are known; then the term itself as a new one, unless it is the id of one."""
    known = [
        Suggestion(one.requester_id, " · ".join(filter(None, (one.name, one.requester_id))))
        for one in found(site, request, Requester, account, term)
    ]
    if term and not Requester.objects.filter(account=account, requester_id=term).exists():
        known.append(Suggestion(term, f"New customer: {term}"))
    return known


def tags(site: AdminSite, request: HttpRequest, account: Account, term: str) -> list[Suggestion]:
    """By their beginning, or that of a word in them, whatever the case."""
    wanted = term.lower()
    known = sorted(tags_of(Content, account) | tags_of(License, account), key=lambda tag: (tag.lower(), tag))
    hits = [tag for tag in known if any(word.startswith(wanted) for word in (tag.lower(), *tag.lower().split()))]
    return [Suggestion(tag, tag) for tag in hits[:MOST]]


def tags_of(model: type[Model], account: Account) -> set[str]:
    rows = model._default_manager.filter(account=account).order_by("-created", "-pk")
    return {tag for tags in rows.values_list("tags", flat=True)[:MOST_TAGGED] for tag in tags}


Suggesting = Callable[[AdminSite, HttpRequest, Account, str], list[Suggestion]]
# By the form's fields.
SUGGESTED: dict[str, Suggesting] = {
    "requester_own_id": requesters,
    "content_ids": items,
    "tags": tags,
    "policy_ids": policies,
}
