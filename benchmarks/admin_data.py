"""Data for benchmarks.admin_pages, on either database: copies of rows created through the API, made in the service."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import islice
from typing import Any
from uuid import UUID

from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from accounts.models import Account, ApiKey, AuditEntry, WebhookEndpoint
from analytics.models import AccessEvent, LedgerEntry
from analytics.statements.closing import close_due
from benchmarks.admin_pages import Sizes
from kit.values import ids
from licensing.clients.models import LicenseClient
from licensing.content.models import Content
from licensing.licenses.models import License
from licensing.policies.models import Policy
from licensing.requesters.models import Requester
from licensing.sites.models import Site
from licensing.visits.models import EdgeUsage, Page, UsageKind

WORDS = ("annual", "climate", "market", "weather", "budget", "election", "harbour", "museum")
ROWS = 1_000  # inserted at a time
CRAWLERS = ("crawler:gptbot", "crawler:claudebot", "crawler:googlebot", "crawler:ccbot", "crawler:bytespider")


def fill(sizes: Sizes) -> None:
    now = timezone.now()
    fill_catalogue(sizes)
    fill_customers(sizes, now)
    fill_decisions(sizes, now)
    fill_visits(sizes, now)
    call_command("rebuild_usage", verbosity=0)  # the pages read rollups
    close_due(now)
    if connection.vendor == "postgresql":  # the service keeps no statistics on SQLite
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")  # autovacuum does it within a minute; a year's rows do not come in one


def insert(rows: Iterator[Any]) -> None:
    while some := list(islice(rows, ROWS)):
        type(some[0])._base_manager.bulk_create(some, batch_size=ROWS)


def clone(model: Any, count: int, change: Callable[[int], dict[str, object]]) -> None:
    """Insert copies of the model's newest row, with new ids and the values of `change`."""
    row = model._base_manager.order_by("-pk")[0]
    key = model._meta.pk.attname
    same = {field.attname: getattr(row, field.attname) for field in model._meta.concrete_fields}
    del same[key]
    insert(model(**{**same, **change(number)}) for number in range(count))


def fill_catalogue(sizes: Sizes) -> None:
    clone(Policy, sizes.policies, lambda n: {"name": f"Policy {n}", "external_id": None})
    policies = list(Policy.objects.values_list("pk", flat=True))
    clone(
        Content,
        sizes.items,
        lambda n: {
            "title": f"{WORDS[n % 8]} {WORDS[n // 8 % 8]} report {n}",
            "external_id": f"item/{n:08}",
            "category": f"category {n % 500}",
            "status": "active" if n % 100 else "archived",
            "type": ("article", "report", "image", "dataset")[n % 4],
            "policy_id": policies[n % len(policies)],
        },
    )
    clone(ApiKey, sizes.keys, lambda n: {"name": f"number {n}", "digest": digest("key", n), "prefix": f"svc_sk_{n}"})
    clone(WebhookEndpoint, sizes.sites, lambda n: {"url": f"https://hooks.example/{n}"})
    clone(AuditEntry, sizes.changes, lambda n: {})


def fill_customers(sizes: Sizes, now: datetime) -> None:
    clone(
        Requester,
        sizes.requesters,
        lambda n: {"requester_id": f"requester{n:07}", "name": f"{WORDS[n % 8].title()} House {n}"},
    )
    for name in CRAWLERS:
        clone(Requester, 1, lambda n: {"requester_id": name, "name": None})  # noqa: B023 - used at once
    requesters = list(Requester.objects.values_list("pk", flat=True))
    month = now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    clone(
        License,
        sizes.licenses,
        lambda n: {
            "requester_id": requesters[n % len(requesters)],
            "license_type": ("commercial", "editorial", "research")[n % 3],
            "status": "active" if n % 50 else "revoked",
            "expires_at": now - timedelta(days=1) if n % 3 == 0 else now + timedelta(days=n % 60),
        },
    )
    clone(
        LicenseClient,
        sizes.keys,
        lambda n: {"name": f"number {n}", "digest": digest("client", n), "prefix": f"svc_cs_{n}"},
    )
    step = (now - month) / (sizes.entries + 1)
    clone(
        LedgerEntry,
        sizes.entries,
        lambda n: {
            "requester_id": requesters[n % len(requesters)],
            "occurred_at": month + step * n,
            "created": month + step * n,
        },
    )


def fill_decisions(sizes: Sizes, now: datetime) -> None:
    items = list(Content.objects.values_list("pk", flat=True))
    requesters = list(Requester.objects.values_list("pk", flat=True))
    sites = list(Site.objects.values_list("pk", flat=True))
    crawlers = list(Requester.objects.filter(requester_id__in=CRAWLERS).values_list("pk", flat=True))
    facts = AccessEvent.objects.order_by("-pk")[0].facts
    step = timedelta(hours=sizes.hours) / (sizes.events + 1)

    def decision(n: int) -> dict[str, object]:
        created = now - timedelta(hours=sizes.hours) + step * n
        number = ids.first_uuid(created).int | 0x7 << 76 | 0x8 << 60 | n  # a UUIDv7 of that time
        is_allowed = n % 3 > 0
        site = sites[n // 10 % len(sites)] if n % 10 == 0 else None  # every tenth is observed at the edge
        edge = {
            "allowed": True,
            "reason": None,
            "observed": "no_license",
            "requester_id": crawlers[n // 10 % len(crawlers)],
            "facts": {**facts, "siteId": site, "url": f"https://site.example/a/{n}", "identifiedBy": "user_agent"},
        }
        return {
            "id": ids.encode("dec", UUID(int=number).bytes),
            "created": created,
            "content_id": items[n * 7919 % len(items)],
            "requester_id": requesters[n * 104_729 % len(requesters)],
            "allowed": is_allowed,
            "reason": None if is_allowed else "no_license",
            "rule_index": 0 if is_allowed else 1,
            **(edge if site else {}),
        }

    clone(AccessEvent, sizes.events, decision)


def fill_visits(sizes: Sizes, now: datetime) -> None:
    account = Account.objects.order_by("pk")[0].pk
    crawlers = list(Requester.objects.filter(requester_id__in=CRAWLERS).values_list("pk", flat=True))
    sites = list(Site.objects.values_list("pk", "host"))

    def page(n: int) -> Page:
        site, host = sites[n % len(sites)]
        url = f"https://{host}/a/{n}"
        return Page(account_id=account, site_id=site, url=url, digest=sha256(url.encode()).digest()[:16])

    insert(page(n) for n in range(sizes.pages))
    pages = list(Page.objects.values_list("pk", flat=True))
    counts = {"allowed": 20, "observed": 5, "denied": 10, "violations": 0, "last_seen": now, "account_id": account}
    visits = {**counts, "identified_by": "user_agent"}
    days = [now.date() - timedelta(days=number) for number in range(sizes.days)]
    insert(
        EdgeUsage(**visits, kind=UsageKind.VISITOR, day=day, page_id=0, requester_id=crawler)
        for day in days
        for crawler in crawlers
    )
    insert(
        EdgeUsage(
            **visits, kind=UsageKind.VISITOR_OF_PAGE, day=day, page_id=page, requester_id=crawlers[n % len(crawlers)]
        )
        for day in days
        for n, page in enumerate(pages)
    )
    referrals = {**counts, "requester_id": 0, "referrer": "chatgpt.com"}
    insert(EdgeUsage(**referrals, kind=UsageKind.REFERRER, day=day, page_id=0) for day in days)
    insert(
        EdgeUsage(**referrals, kind=UsageKind.REFERRER_OF_PAGE, day=day, page_id=page)
        for day in days
        for page in pages[:100]
    )


def digest(kind: str, number: int) -> bytes:
    return sha256(f"{kind}{number}".encode()).digest()
