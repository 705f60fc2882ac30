"""The demo account: made by the services that every account is made with, its past by the real access check."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from random import Random
from typing import Any

from django.db import transaction
from rest_framework.serializers import Serializer

from accounts import services as accounts
from accounts.models import Account, ApiKey
from licensing import services
from licensing.check_bodies import Check
from licensing.checks import check_access
from licensing.demo_data import CUSTOMERS, PUBLISHER, SHOWN, SITE, Customer, policies, read_items
from licensing.import_mapping import Mapping, is_target
from licensing.models import Content, Policy, PolicyRevision
from licensing.serializers import ContentSerializer, PolicySerializer

DAYS = 7
VISITS_PER_DAY = 20
EMBARGO = timedelta(days=14)
# How busy each hour of the day is, from midnight UTC.
HOURS = (1, 1, 1, 1, 1, 2, 4, 7, 10, 12, 12, 11, 9, 10, 12, 11, 10, 8, 6, 5, 4, 3, 2, 1)


@dataclass(frozen=True, slots=True)
class Demo:
    """What was made, with the texts of its keys, which exist nowhere else."""

    account: Account
    secret_key: str
    public_key: str


@transaction.atomic
def seed_demo(now: datetime, seed: int = 1, days: int = DAYS) -> Demo:
    """An account with policies, items and the decisions of the last `days`; the same seed decides the same."""
    opened = now - timedelta(days=days)
    account = accounts.create_account(
        PUBLISHER, plan="enterprise", requests_per_minute=10_000, requests_per_day=1_000_000
    )
    _, secret_key = accounts.create_api_key(account.pk, name="Demo server", type="secret")
    _, public_key = accounts.create_api_key(account.pk, name="Demo website", type="public")
    external_ids = register(account, opened)
    backdate(account, opened)
    for moment, checks in visits(Random(seed), external_ids, opened, now):  # noqa: S311 - nothing secret hangs on it
        check_access(account.pk, checks, moment)
    return Demo(account, secret_key, public_key)


def register(account: Account, opened: datetime) -> list[str]:
    """Creates policies and items; returns the items' externalIds, the most popular first."""
    linked = {"": None}
    for name, body in policies((opened + EMBARGO).date()).items():
        linked[name] = services.create_policy(account.pk, validated(PolicySerializer, body)).pk
    items = read_items()
    mapping = Mapping({name: name for name in items[0] if is_target(name)}, {}, is_csv=True)
    for item in reversed(items):  # lists begin with the newest
        body = mapping.body(item)
        body["policyId"] = linked[item["policy"]]
        body["source"] = f"{SITE}/{item['type']}s/{item['externalId']}"
        body["metadata"]["publishedAt"] = (opened - timedelta(days=int(item["age"]))).date().isoformat()
        services.create_content(account.pk, validated(ContentSerializer, body))
    return [item["externalId"] for item in items]


def validated(serializer: type[Serializer], body: dict[str, Any]) -> dict[str, Any]:
    checked = serializer(data=body)
    checked.is_valid(raise_exception=True)
    return checked.validated_data


def backdate(account: Account, opened: datetime) -> None:
    """Puts the beginning of everything before the first decision; the services know no time but now."""
    Account.objects.filter(pk=account.pk).update(created=opened)
    ApiKey.objects.filter(account=account).update(created_at=opened)
    Policy.objects.filter(account=account).update(created=opened)
    PolicyRevision.objects.filter(policy__account=account).update(created=opened)
    Content.objects.filter(account=account).update(created=opened, updated=opened)


def visits(
    random: Random, external_ids: list[str], begin: datetime, end: datetime
) -> Iterator[tuple[datetime, list[Check]]]:
    """Who asked for what and when, in the order of time: rule limits are counted forwards."""
    moments = []
    for day in range((end.date() - begin.date()).days + 1):
        midnight = datetime.combine(begin.date() + timedelta(days=day), time.min, begin.tzinfo)
        for hour in random.choices(range(24), HOURS, k=VISITS_PER_DAY):
            moments.append(midnight + timedelta(hours=hour, microseconds=random.randrange(3_600_000_000)))
    # A few items are asked for much more often than the rest.
    weights = [1 / (rank + 3) for rank in range(len(external_ids))]
    for moment in sorted(moments):
        [customer] = random.choices(CUSTOMERS, [customer.weight for customer in CUSTOMERS])
        wanted = random.choices(external_ids, weights, k=random.randint(1, customer.burst))
        checks = [check_of(customer, external_id, random) for external_id in wanted]
        if begin <= moment < end:
            yield moment, checks


def check_of(customer: Customer, external_id: str, random: Random) -> Check:
    return Check(
        selector=("externalId", external_id),
        requester_id=customer.id,
        requester_name=customer.name,
        license_type=customer.license_type,
        has_valid_license=customer.license_type is not None,
        permission=random.choice(customer.permissions),
        ip=f"198.51.100.{random.randint(1, 254)}",
        user_agent=customer.user_agent,
    )


def curl_line(key: str, address: str) -> str:
    """An access check that is allowed, for a shell."""
    requester = {"id": "org_you", "name": "You", "licenseType": "commercial", "hasValidLicense": True}
    body = json.dumps({"externalId": SHOWN, "requester": requester})
    return (
        f"curl -s {address}/v1/access/check -H 'Authorization: Bearer {key}' "
        f"-H 'Content-Type: application/json' -d '{body}'"
    )
