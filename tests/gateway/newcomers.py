"""Requesters recorded by a check that creates them."""

from datetime import timedelta

from django.utils import timezone

from accounts.models import Account
from accounts.plans.epochs import current_epoch
from analytics.models import RuleUsage
from analytics.recording.entries import Entry
from kit.values import ids
from licensing.access.check_values import Check
from licensing.access.decisions import decide_checks
from licensing.access.lookup.items import find_items
from licensing.access.lookup.requesters import assign_numbers, count_unnumbered, find_requesters, requesters_to_write
from licensing.access.subjects import LookupResult
from licensing.content.models import Content
from licensing.requesters.numbers import reserve
from tests import factories

YESTERDAY = timezone.now() - timedelta(days=1)
LIMITED = factories.ALLOW_ALL | {"rateLimit": {"requests": 100, "period": "month"}}


def limited_item(account: Account) -> Content:
    return factories.content(account, policy_id=factories.policy(account, LIMITED).pk)


def entries_of(account: Account, *checks: Check) -> list[Entry]:
    """Return what an uncached process records for one request's checks."""
    items = find_items(account.pk, {check.selector for check in checks})
    requesters = find_requesters(account.pk, {requester for check in checks for requester, _ in check.requesters})
    found = LookupResult(current_epoch(account.pk), items, requesters)
    named = requesters_to_write(checks, found)
    found = assign_numbers(found, named, reserve(count_unnumbered(named)))
    return decide_checks(checks, found, ids.id_to_hex("acc", account.pk), timezone.now()).entries


def check(item: Content, requester: str = "org_new", name: str | None = None) -> Check:
    return Check(("contentId", item.pk), requester, name)


def names(account: Account) -> dict[str, str | None]:
    return dict(account.requester_set.values_list("requester_id", "name"))


def used(account: Account) -> dict[str, int]:
    """Return each requester's use of the rule's limit."""
    known = dict(account.requester_set.values_list("pk", "requester_id"))
    return {known[usage.requester_id]: usage.used for usage in RuleUsage.objects.all()}
