"""Creates the demo account with the same services as any account; past checks are decided and recorded as usual."""

import json
from collections import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from math import sin
from random import Random

from django.db import transaction
from django.db.models import F, OuterRef, Subquery
from rest_framework.serializers import Serializer

from accounts.keys import services as key_services
from accounts.models import Account
from accounts.plans import services as plan_services
from analytics.events.partitions import MONTHS_AHEAD, ensure_partitions
from analytics.models import AccessEvent, ExchangeRate
from kit.http.errors import InvalidRequest
from licensing.content import services as content_services
from licensing.content.models import Content
from licensing.content.serializers import ContentSerializer
from licensing.demo.crawlers import import_log, make_site
from licensing.demo.prepaid import open_wallets, record_prepaid_checks
from licensing.demo.story import (
    CUSTOMERS,
    ITEM_FILES,
    LICENSED,
    PREPAID,
    PUBLISHER,
    RATES,
    SHOWN,
    SITE,
    TERMS,
    policy_bodies,
    read_items,
)
from licensing.demo.visits import record_visits
from licensing.imports.files import open_rows
from licensing.imports.importer import Import
from licensing.imports.mapping import ColumnMapping, is_target, put_value
from licensing.licenses.models import License
from licensing.licenses.services import issue_license
from licensing.policies import services as policy_services
from licensing.policies.models import Policy, PolicyRevision
from licensing.policies.serializers import PolicySerializer
from licensing.requesters.models import Requester
from licensing.sites.models import Site

MAX_REQUESTED_ITEMS = 2_000  # items per file that are ever requested
DAYS = 365
EMBARGO = timedelta(days=14)
Progress = Callable[[int, int], None]  # days done, total days


@dataclass(frozen=True, slots=True)
class Demo:
    """The created demo account with the texts of its keys, which are not stored."""

    account: Account
    secret_key: str
    public_key: str


def make_partitions(now: datetime, days: int) -> None:
    """Create the partitions of the demo's past, outside transactions: until its commit a new one locks all lists."""
    ensure_partitions(now - timedelta(days=days), months_ahead=days // 28 + MONTHS_AHEAD)


def ignore_progress(done: int, total: int) -> None:
    """Show no progress."""


@transaction.atomic
def seed_demo(
    now: datetime,
    seed: int = 1,
    days: int = DAYS,
    files: Sequence[str] = (),
    progress: Progress = ignore_progress,
) -> Demo:
    """Create a demo account with policies, items, licences and decisions of the last `days`.

    Call `make_partitions` first. The same `seed` gives the same decisions. `files` are CSV or JSON Lines files of
    additional items, of a kind listed in ITEM_FILES. Raises InvalidRequest for other files.
    """
    opened = now - timedelta(days=days)
    account = plan_services.create_account(
        next_demo_name(), plan="enterprise", requests_per_minute=10_000, requests_per_day=1_000_000, is_demo=True
    )
    _, secret_key = key_services.create_api_key(account.pk, name="Demo server", type="secret")
    _, public_key = key_services.create_api_key(account.pk, name="Demo website", type="public")
    policy_ids = create_policies(account, opened)
    names = create_items(account, opened, policy_ids)
    for path in files:
        names += import_items(account, path, policy_ids)
    site = make_site(account, policy_ids)
    issue_licenses(account, opened, now)
    make_rates(opened, now)
    open_wallets(account, opened)
    backdate_creation(account, opened)
    record_prepaid_checks(account, licensed_items(), opened, now)
    record_visits(account, names, Random(seed), opened, now, progress)  # noqa: S311 - nothing secret hangs on it
    paths = [f"/{item['type']}s/{item['externalId']}" for item in read_items()]
    import_log(site, paths, Random(seed), now, days)  # noqa: S311
    set_first_visits(account)
    return Demo(account, secret_key, public_key)


def next_demo_name() -> str:
    """Return the demo's name, numbered from the second one."""
    demo_count = Account.objects.filter(is_demo=True).count()
    return f"{PUBLISHER} {demo_count + 1}" if demo_count else PUBLISHER


def import_items(account: Account, path: str, policy_ids: abc.Mapping[str, str | None]) -> list[str]:
    """Import a file of items and return their externalIds."""
    with open_rows(path) as rows:
        columns = set(rows.header())
        if not rows.is_csv:
            columns |= set(next(iter(rows.rows())).values)
        kind = next((kind for kind in ITEM_FILES if columns.issuperset(kind.columns.values())), None)
        if kind is None:
            file_columns = " or ".join(", ".join(sorted(kind.columns.values())) for kind in ITEM_FILES)
            raise InvalidRequest(f"{path}: the demo takes files with the columns {file_columns}.")
        policy = Policy.objects.get(pk=policy_ids[kind.policy])
        work = Import(account.pk, rows, dict(kind.columns), {**kind.defaults, "policyId": policy.pk})
        work.run(lambda line, problem: None, lambda tally: None)
    items = Content.objects.of(account.pk).filter(policy=policy, external_id__isnull=False).order_by("external_id")
    return list(items.values_list("external_id", flat=True)[:MAX_REQUESTED_ITEMS])


def issue_licenses(account: Account, opened: datetime, now: datetime) -> None:
    """Issue the customers' licences, with their prices in the ledger."""
    names = {customer.id: customer.name for customer in (*CUSTOMERS, *PREPAID)}
    for term in TERMS:
        fields: dict[str, object] = {
            "requester_id": term.requester_id,
            "requester_name": names[term.requester_id],
            "license_type": term.license_type,
            "tags": list(term.tags),
            "starts_at": opened + (now - opened) * term.begin,
            "expires_at": None if term.end is None else opened + (now - opened) * term.end,
        }
        for name, price in (("price", term.price), ("access", term.per_access)):
            if price is not None:
                fields[f"{name}_amount"] = Decimal(price[0])
                fields[f"{name}_currency"] = price[1]
        issue_license(account.pk, fields)


def make_rates(opened: datetime, now: datetime) -> None:
    """Create invented exchange rates if the installation has none, so that reports can convert currencies."""
    if ExchangeRate.objects.exists():
        return
    days = [opened.date() + timedelta(days=day) for day in range((now.date() - opened.date()).days + 1)]
    for currency, middle in RATES.items():
        wave = [middle * (1 + 0.03 * sin(index / 40)) for index in range(len(days))]
        ExchangeRate.objects.bulk_create(
            ExchangeRate(day=day, currency=currency, rate=f"{rate:.4f}") for day, rate in zip(days, wave, strict=True)
        )


def create_policies(account: Account, opened: datetime) -> dict[str, str | None]:
    """Create the policies. Returns their ids by the items' column `policy`."""
    policy_ids: dict[str, str | None] = {"": None}
    for name, body in policy_bodies((opened + EMBARGO).date()).items():
        policy_ids[name] = policy_services.create_policy(account.pk, validate(PolicySerializer, body)).pk
    return policy_ids


def create_items(account: Account, opened: datetime, policy_ids: abc.Mapping[str, str | None]) -> list[str]:
    """Create the items. Returns their externalIds, most popular first."""
    items = read_items()
    mapping = ColumnMapping({name: name for name in items[0] if is_target(name)}, {}, is_csv=True)
    for item in reversed(items):  # lists start with the newest
        body = mapping.body(item)
        body["policyId"] = policy_ids[item["policy"]]
        body["source"] = f"{SITE}/{item['type']}s/{item['externalId']}"
        put_value(body, "metadata.publishedAt", (opened - timedelta(days=int(item["age"]))).date().isoformat())
        content_services.create_content(account.pk, validate(ContentSerializer, body))
    return [item["externalId"] for item in items]


def licensed_items() -> list[str]:
    """Return the externalIds of the items that a commercial licence opens, most popular first."""
    return [item["externalId"] for item in read_items() if (item["policy"], item["status"]) == (LICENSED, "active")]


def validate(serializer: type[Serializer], body: abc.Mapping[str, object]) -> dict[str, object]:
    checked = serializer(data=body)
    checked.is_valid(raise_exception=True)
    return checked.validated_data


def backdate_creation(account: Account, opened: datetime) -> None:
    """Set the creation times to before the first decision, because services always use the current time."""
    Account.objects.filter(pk=account.pk).update(created=opened)
    Policy.objects.filter(account=account).update(created=opened)
    PolicyRevision.objects.filter(policy__account=account).update(created=opened)
    Content.objects.filter(account=account).update(created=opened, updated=opened)
    Site.objects.filter(account=account).update(created=opened, updated=opened)
    Requester.objects.filter(account=account).update(created=opened)
    License.objects.filter(account=account).update(created=F("starts_at"), updated=F("starts_at"))


def set_first_visits(account: Account) -> None:
    """Set the creation time of requesters that were created by a visit to that visit's time."""
    visits = AccessEvent.objects.filter(requester=OuterRef("pk")).order_by("created").values("created")
    requesters = Requester.objects.filter(account=account).annotate(first=Subquery(visits[:1]))
    requesters.filter(first__lt=F("created")).update(created=F("first"))


def curl_line(key: str, address: str) -> str:
    """Return a curl command for an access check that is allowed."""
    requester = {"id": "org_you", "name": "You", "licenseType": "commercial", "hasValidLicense": True}
    body = json.dumps({"externalId": SHOWN, "requester": requester})
    return (
        f"curl -s {address}/v1/access/check -H 'Authorization: Bearer {key}' "
        f"-H 'Content-Type: application/json' -d '{body}'"
    )
