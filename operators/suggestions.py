"""Suggestions while typing: items, requesters, policies, licences, and words used in policies.

A field names its kind (operators.base.suggesting), and a script requests matches.
"""

from collections.abc import Callable, Iterable

from django.contrib.admin import AdminSite
from django.db.models import Model
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_GET
from msgspec import Struct
from msgspec.structs import asdict

from accounts.models import Account
from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.policies.models import Policy
from licensing.requesters.models import Requester
from operators.base.mixins import ModelT
from operators.base.model_admin import ScopedAdmin
from operators.base.scope import request_scope
from operators.base.suggesting import SuggestionKind
from operators.licenses.effects import known_types
from operators.policies.linked_items import known_permissions

MAX_SUGGESTIONS = 10
MAX_TERM = 200  # characters
MAX_TAGGED = 5_000  # newest items and licences whose tags are suggested
WITHOUT_ACCOUNT = {SuggestionKind.ITEM}  # values that identify their account


class Suggestion(Struct, frozen=True):
    value: str
    label: str


class Question(Struct, frozen=True):
    """A request for suggestions; `account` is None if none is chosen."""

    site: AdminSite
    request: HttpRequest
    account: Account | None
    term: str

    @property
    def account_ids(self) -> list[str]:
        return [] if self.account is None else [self.account.pk]

    def may_see(self, model: type[Model]) -> bool:
        return self.site._registry[model].has_view_permission(self.request)

    def matches(self, model: type[ModelT]) -> Iterable[ModelT]:
        """Return the first matches of the list's search box, newest first."""
        model_admin = self.site._registry.get(model)
        if not isinstance(model_admin, ScopedAdmin) or not model_admin.has_view_permission(self.request):
            return []
        rows = model_admin.get_queryset(self.request).order_by("-pk")
        if self.account is not None:
            rows = rows.filter(**{model_admin.account_field: self.account.pk})
        rows, _ = model_admin.get_search_results(self.request, rows, self.term)
        return rows[:MAX_SUGGESTIONS]

    def among(self, values: Iterable[str]) -> list[Suggestion]:
        """Return the known texts with a word that begins with the term, ignoring case."""
        prefix = self.term.lower()
        ordered = sorted((text.lower(), text) for text in values)
        hits = [
            text
            for lowered, text in ordered
            if lowered.startswith(prefix) or any(word.startswith(prefix) for word in lowered.split())
        ]
        return [Suggestion(text, text) for text in hits[:MAX_SUGGESTIONS]]


def items(question: Question) -> list[Suggestion]:
    """Suggest items; without an account, of all accounts with their names."""
    suggestions = []
    for item in question.matches(Content):
        label = item.title
        if item.external_id:
            label += f" · {item.external_id}"
        if question.account is None:
            label += f" · {item.account.name}"
        suggestions.append(Suggestion(item.pk, label))
    return suggestions


def policies(question: Question) -> list[Suggestion]:
    return [Suggestion(policy.pk, policy.name) for policy in question.matches(Policy)]


def licenses(question: Question) -> list[Suggestion]:
    return [
        Suggestion(license_.pk, f"{license_.license_type} of {license_.requester}")
        for license_ in question.matches(License)
    ]


def requesters(question: Question) -> list[Suggestion]:
    return [
        Suggestion(requester.requester_id, " · ".join(filter(None, (requester.name, requester.requester_id))))
        for requester in question.matches(Requester)
    ]


def customers(question: Question) -> list[Suggestion]:
    """Suggest known requesters, then the term itself as a new one unless it exists."""
    if not question.may_see(Requester):
        return []
    suggestions = requesters(question)
    same_id = Requester.objects.filter(account=question.account, requester_id=question.term)
    if question.term and not same_id.exists():
        suggestions.append(Suggestion(question.term, f"New customer: {question.term}"))
    return suggestions


def tags(question: Question) -> list[Suggestion]:
    known_values: set[str] = set()
    for model in (Content, License):
        if question.may_see(model):
            rows = model._default_manager.filter(account=question.account).order_by("-created", "-pk")
            known_values.update(*rows.values_list("tags", flat=True)[:MAX_TAGGED])
    return question.among(known_values)


def license_types(question: Question) -> list[Suggestion]:
    if not question.may_see(Policy):
        return []
    return question.among(known_types(question.account_ids))


def permissions(question: Question) -> list[Suggestion]:
    if not question.may_see(Policy):
        return []
    return question.among(known_permissions(question.account_ids))


Suggesting = Callable[[Question], list[Suggestion]]
SUGGESTED: dict[str, Suggesting] = {
    SuggestionKind.ITEM: items,
    SuggestionKind.POLICY: policies,
    SuggestionKind.LICENSE: licenses,
    SuggestionKind.REQUESTER: requesters,
    SuggestionKind.CUSTOMER: customers,
    SuggestionKind.TAG: tags,
    SuggestionKind.LICENSE_TYPE: license_types,
    SuggestionKind.PERMISSION: permissions,
}


@require_GET
def suggest(request: HttpRequest, site: AdminSite) -> JsonResponse:
    """Answer `?kind=…&account=…&term=…`; empty for an account that the operator may not see."""
    kind = request.GET.get("kind", "")
    account_id = request.GET.get("account", "")
    account = request_scope(request).account(account_id)
    term = request.GET.get("term", "").strip()[:MAX_TERM]
    is_known = account is not None or (not account_id and kind in WITHOUT_ACCOUNT)
    if kind not in SUGGESTED or not is_known or "\0" in term:
        return JsonResponse({"suggestions": []})
    question = Question(site, request, account, term)
    return JsonResponse({"suggestions": [asdict(suggestion) for suggestion in SUGGESTED[kind](question)]})
