"""The part of benchmarks.admin_pages inside the service: find the pages, open them, print JSON."""

import json
from collections.abc import Iterator
from statistics import median
from time import process_time
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db import connection, reset_queries
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from unfold.admin import ModelAdmin

from accounts.models import Account
from analytics.models import AccessEvent
from licensing.content.models import Content
from operators.base.filters import ExactTextFilter, LocalDateTimeFilter, OptionsFilter, RelatedFilter
from operators.staff.roles import VIEWER
from operators.staff.services import create_operator
from tests.admin.every_page import addresses, newest_of

FORBIDDEN = 403  # add pages of models that cannot be added, for every operator
TERMS = ["annual", "nothing of that kind", "item/0000", "requester00"]
DAYS = ("2026-01-01", "2026-01-02")
NEVER = "none of these"
# Combined filters and rare values; filters_of finds single filters.
TOGETHER: dict[str, list[dict[str, str]]] = {
    "Content": [
        {"category": "category 7"},
        {"type__exact": "report", "status__exact": "archived", "q": "market"},
        {"p": "200"},
    ],
    "AccessEvent": [{"p": "200"}],
}


def list_of(model: type[Model]) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")


def filters_of(shown: Any) -> Iterator[dict[str, str]]:
    """Yield each filter of a list with each of its values: common, rare and unmatched ones."""
    for one in shown.list_filter:
        if isinstance(one, tuple):
            yield from of_field(shown.model, *one)
        elif isinstance(one, type) and issubclass(one, OptionsFilter):
            yield from ({one.parameter_name: value} for value in one.options)
        elif isinstance(one, type):  # free text
            yield {one.parameter_name: NEVER}
        else:
            yield {f"{one}__exact": "1"}


def of_field(model: type[Model], name: str, kind: type) -> Iterator[dict[str, str]]:
    field = model._meta.get_field(name)
    if issubclass(kind, LocalDateTimeFilter):
        yield {f"{name}_from_0": DAYS[0], f"{name}_to_0": DAYS[1]}
        yield {f"{name}_to_0": "2020-01-01"}
    elif issubclass(kind, RelatedFilter):
        yield {f"{name}__id__exact": newest_of(field.related_model) or ""}
    elif issubclass(kind, ExactTextFilter):
        yield {name: NEVER}
    else:
        yield from ({f"{name}__exact": value} for value, _ in field.flatchoices)


def lists() -> Iterator[str]:
    """Yield every list with its search and its filters."""
    account = Account.objects.order_by("pk")[0].pk
    for model, shown in sorted(admin.site._registry.items(), key=lambda pair: pair[0]._meta.label):
        if not isinstance(shown, ModelAdmin):
            continue
        asked = [*filters_of(shown), *TOGETHER.get(model.__name__, [])]
        if model is AccessEvent:
            asked += [{"outcome": "content_archived", "account__id__exact": account}]
            asked += [{"content__id__exact": newest_of(Content), "outcome": "allowed"}]
        if shown.search_fields:
            asked += [{"q": term} for term in TERMS]
        yield from (f"{list_of(model)}?{urlencode(query)}" for query in asked)


def overviews() -> Iterator[str]:
    account = Account.objects.order_by("pk")[0].pk
    for query in ({"period": "7d"}, {"period": "90d"}, {"period": "year"}, {"currency": "EUR"}, {"account": account}):
        yield f"{reverse('admin:index')}?{urlencode(query)}"
    for period in ("30d", "year"):
        yield f"{reverse('admin:visitors')}?{urlencode({'period': period})}"


def asked_while_typing() -> Iterator[str]:
    """Yield the addresses requested while typing in search fields of forms and filters, and in Ctrl+K."""
    for field in ("content", "requester", "account"):
        of = {"app_label": "analytics", "model_name": "accessevent", "field_name": field}
        yield f"{reverse('admin:autocomplete')}?{urlencode({'term': 'annual', **of})}"
    yield from (f"{reverse('admin:search')}?{urlencode({'s': term})}" for term in (*TERMS, newest_of(Content) or ""))


def pages() -> Iterator[str]:
    yield from overviews()
    yield from (address for name, address in addresses() if name != "login")
    yield f"{reverse('admin:check_access')}?{urlencode({'decision': newest_of(AccessEvent)})}"
    yield from lists()
    yield from asked_while_typing()


def signed_in(name: str, **options: Any) -> Client:
    operator, _ = create_operator(name, **options)
    client = Client(raise_request_exception=False)
    client.force_login(operator)
    return client


def main(repeat: int, only: str) -> None:
    superuser = signed_in("measure", superuser=True)
    viewer = signed_in("viewer", role=VIEWER, accounts=Account.objects.order_by("pk")[:50])
    # The very first page of a process compiles its templates, and connects to the database.
    found = [measured(superuser, reverse("admin:index"), 1, "superuser's first")]
    for who, client in (("superuser", superuser), ("viewer", viewer)):
        found += [measured(client, path, repeat, who) for path in dict.fromkeys(pages()) if only in path]
    print(json.dumps([page for page in found if page["status"] != FORBIDDEN]))


def measured(client: Client, path: str, repeat: int, who: str) -> dict[str, Any]:
    """Return medians in milliseconds: time of the queries, CPU time of this process, and CPU time in all."""
    runs = []
    for _ in range(repeat):
        reset_queries()  # a connection remembers a limited number
        with CaptureQueriesContext(connection) as queries:
            computed = process_time()
            status = client.get(path).status_code
            computed = process_time() - computed
        runs.append((sum(float(query["time"]) for query in queries.captured_queries), computed))
    database, python = (median(column) * 1000 for column in zip(*runs, strict=True))
    cost = python if connection.vendor == "sqlite" else python + database
    figures = {"database": database, "python": python, "cost": cost}
    return {"who": who, "path": path, "status": status, "queries": len(queries), **figures}
