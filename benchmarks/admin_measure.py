"""The part of benchmarks.admin_pages that runs within the service: finds the pages, opens them, prints JSON."""

import json
from collections.abc import Iterator
from statistics import median
from time import perf_counter, process_time
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import NoReverseMatch, reverse

from accounts.models import Account
from licensing.content.models import Content
from licensing.requesters.models import Requester
from operators.staff.roles import VIEWER
from operators.staff.services import create_operator

FORBIDDEN = 403  # to everybody: of what cannot be added
TERMS = ["annual", "nothing of that kind", "item/0000", "requester00"]


def views(model: Any) -> str:
    return f"admin:{model._meta.app_label}_{model._meta.model_name}"


def address(name: str, *args: Any) -> str | None:
    try:
        return reverse(name, args=args)
    except NoReverseMatch:
        return None


def filters_of(model: Any) -> list[dict[str, str]]:
    """Filters by what is often there, by what is seldom there, and by what is never there."""
    account = {"account__id__exact": Content.objects.order_by("pk").values_list("account", flat=True)[0]}
    requester = {"requester__id__exact": str(Requester.objects.order_by("-pk").values_list("pk", flat=True)[0])}
    return {
        "Content": [
            {"status__exact": "archived"},
            {"type__exact": "video"},
            {"category": "category 7"},
            {"category": "none of these"},
            {"policy__id__exact": Content.objects.order_by("-pk")[0].policy_id or ""},
            {"type__exact": "report", "status__exact": "archived", "q": "market"},
            {"p": "200"},
        ],
        "AccessEvent": [
            {"outcome": "denied"},
            {"outcome": "observed"},
            {"outcome": "content_archived"},
            {"outcome": "content_archived", **account},
            {"created_from_0": "2026-01-01", "created_to_0": "2026-01-02"},
            {"created_to_0": "2020-01-01"},
            {"content__id__exact": Content.objects.order_by("-pk")[0].pk, "outcome": "allowed"},
            requester,
            {"p": "200"},
        ],
        "License": [{"state": "expired"}, {"state": "revoked"}, {"license_type": "none of these"}, requester],
        "LedgerEntry": [{"type__exact": "adjustment"}, {"occurred_at_to_0": "2020-01-01"}, requester],
    }.get(model.__name__, []) + ([account] if any(field.name == "account" for field in model._meta.fields) else [])


def overviews() -> Iterator[str]:
    account = Account.objects.order_by("pk")[0].pk
    yield reverse("admin:index")
    for query in ({"period": "7d"}, {"period": "90d"}, {"period": "year"}, {"currency": "EUR"}, {"account": account}):
        yield f"{reverse('admin:index')}?{urlencode(query)}"


def visitors() -> Iterator[str]:
    for period in ("30d", "year"):
        yield f"{reverse('admin:visitors')}?{urlencode({'period': period})}"


def pages() -> Iterator[str]:
    yield from overviews()
    yield from visitors()
    for model, shown in sorted(admin.site._registry.items(), key=lambda pair: pair[0]._meta.label):
        listed = address(f"{views(model)}_changelist")
        if listed is None:
            continue
        yield listed
        if shown.search_fields:
            yield from (f"{listed}?{urlencode({'q': term})}" for term in TERMS)
            if typed := autocomplete(model):
                yield f"{reverse('admin:autocomplete')}?{urlencode(typed)}"
        yield from (f"{listed}?{urlencode(query)}" for query in filters_of(model))
        if added := address(f"{views(model)}_add"):
            yield added
        for action in getattr(shown, "actions_list", ()):
            if "export" not in str(action) and (there := address(f"{views(model)}_{action}")):
                yield there
        newest = model._default_manager.order_by("-pk").first()
        if newest is not None:
            yield reverse(f"{views(model)}_change", args=[quote(newest.pk)])
            for action in getattr(shown, "actions_detail", ()):
                if isinstance(action, str) and (there := address(f"{views(model)}_{action}", quote(newest.pk))):
                    yield there


def autocomplete(model: Any) -> dict[str, str]:
    """What the form of a filter or a reference asks for, as somebody types."""
    asking = {Content: ("analytics", "accessevent", "content"), Requester: ("analytics", "accessevent", "requester")}
    if model not in asking:
        return {}
    app, name, field = asking[model]
    return {"term": "annual", "app_label": app, "model_name": name, "field_name": field}


def signed_in(name: str, **options: Any) -> Client:
    operator, _ = create_operator(name, **options)
    client = Client(raise_request_exception=False)
    client.force_login(operator)
    return client


def main(repeat: int) -> None:
    superuser = signed_in("measure", superuser=True)
    viewer = signed_in("viewer", role=VIEWER, accounts=Account.objects.order_by("pk")[:50])
    # The very first page of a process compiles its templates, and connects to the database.
    found = [measured(superuser, reverse("admin:index"), 1, "superuser's first")]
    for who, client in (("superuser", superuser), ("viewer", viewer)):
        found += [measured(client, path, repeat, who) for path in dict.fromkeys(pages())]
    print(json.dumps([page for page in found if page["status"] != FORBIDDEN]))


def measured(client: Client, path: str, repeat: int, who: str) -> dict[str, Any]:
    """Medians in milliseconds: by the clock, of that in the database, and what Python computed."""
    runs = []
    for _ in range(repeat):
        with CaptureQueriesContext(connection) as queries:
            began, computed = perf_counter(), process_time()
            status = client.get(path).status_code
            times = (perf_counter() - began, process_time() - computed)
        runs.append((times[0], sum(float(query["time"]) for query in queries.captured_queries), times[1]))
    clock, database, python = (median(column) * 1000 for column in zip(*runs, strict=True))
    figures = {"ms": clock, "database": database, "python": python}
    return {"who": who, "path": path, "status": status, "queries": len(queries), **figures}
