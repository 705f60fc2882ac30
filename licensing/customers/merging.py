"""Merge one requester into another: licences, clients, wallets and counters move, and so do all later decisions.

Recorded decisions keep the id they were recorded with. The merged requester's row remains, and names the requester
that its checks count for (licensing.access.lookup).
"""

from collections import defaultdict
from datetime import datetime
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from accounts.auditing import audit
from accounts.plans import epochs
from analytics.models import RuleUsage, Wallet
from analytics.payments.services import move_prepayment
from analytics.wallets.moving import move_wallet
from analytics.wallets.services import name_of
from kit.http.errors import InUse, ValidationFailed
from kit.storage.sqlite_turns import turn_to_write
from licensing.clients.models import LicenseClient
from licensing.customers.recordings import wait_for_recordings
from licensing.licenses.fees import book_fees
from licensing.licenses.models import License
from licensing.licenses.services import check_license_limits, license_totals
from licensing.requesters import services
from licensing.requesters.models import Requester


@transaction.atomic
def merge(requester: Requester, into: str) -> Requester:
    """Merge the requester into the account's requester with that id; return that one. Idempotent.

    Raises NotFound, ValidationFailed if `into` is not a valid target, and InUse if the requester was merged into
    another one. Call `move_late_counts` after the commit.
    """
    epochs.lock_epoch(requester.account_id)
    target = find_target(requester.account_id, into)
    rows = Requester.objects.select_for_update().filter(pk__in=[requester.pk, target.pk]).order_by("pk")
    locked = {row.pk: row for row in rows}
    source = locked[requester.pk]
    target = locked[target.pk]
    if source.merged_into_id == target.pk:
        return target
    if source.merged_into_id is not None:
        raise InUse(f"It was merged into {source.current.requester_id[:100]!r} already.")
    if source.pk == target.pk:
        is_former = into != source.requester_id
        already = f"{into[:100]!r} was merged into this requester already."
        raise ValidationFailed(already if is_former else "Must be another requester.", param="into")
    move_possessions(source, target)
    source.merged_into = target
    source.updated = timezone.now()
    source.save(update_fields=["merged_into", "updated"])
    Requester.objects.filter(merged_into=source).update(merged_into=target)
    services.renew_all([source, target], [])
    audit.record("requester.merged", source, {}, {"into": target.requester_id})
    merged_keys = Requester.objects.filter(merged_into=target).values_list("pk", flat=True)
    epochs.invalidate(source.account_id, {target.epoch_name, *map(str, merged_keys)})
    return target


def find_target(account_id: str, into: str) -> Requester:
    target = Requester.objects.filter(account_id=account_id, requester_id=into).select_related("merged_into").first()
    if target is None:
        raise ValidationFailed(f"There is no requester {into[:100]!r}.", param="into")
    return target.current


def move_possessions(source: Requester, target: Requester) -> None:
    """Move everything the source has to the target. Raises ValidationFailed if the target would have too many
    licences.

    Rows are locked in the same order as by checks: counters last.
    """
    now = timezone.now()
    move_licenses(source, target, now)
    licenses = license_totals([target]).get(target.pk)
    if licenses is not None:
        try:
            check_license_limits(licenses)
        except ValidationFailed as error:
            raise ValidationFailed(error.message, param="into") from None
    move_clients(source, target)
    source.portal_sessions.all().delete()  # whoever has one was not shown what the target has
    # All at once, in the order of their ids: a move locks two.
    wallets = Wallet.objects.select_for_update().filter(requester__in=[source.pk, target.pk]).order_by("pk")
    moved_credit: defaultdict[str, Decimal] = defaultdict(Decimal)
    for wallet in list(wallets):
        if wallet.requester_id == source.pk:
            unit, credit = move_wallet(wallet.pk, target.pk, now)
            moved_credit[unit] += credit
    for unit, credit in sorted(moved_credit.items()):
        move_prepayment(source.account_id, source.pk, target.pk, unit, credit)
    for requester in (source, target):
        own_wallets = Wallet.objects.filter(requester=requester).order_by("created", "pk")
        requester.wallets = [name_of(wallet) for wallet in own_wallets] or None
        requester.save(update_fields=["wallets"])
    move_counters(source.pk, target.pk)


def move_licenses(source: Requester, target: Requester, now: datetime) -> None:
    """Move all licences with one statement, and write an audit entry and an event for each."""
    licenses = License.objects.filter(requester=source)
    book_fees(source.account_id, now, licenses.filter(next_fee_at__lte=now))  # the source owes them
    before = audited_requester(source)
    after = audited_requester(target)
    changes = []
    for license_ in licenses.order_by("pk").select_for_update():
        license_.requester = target
        license_.updated = now
        changes.append(audit.build_change("license.updated", license_, before, after))
    licenses.update(requester=target, updated=now)
    audit.record_all(changes)


def move_clients(source: Requester, target: Requester) -> None:
    """Move all licence clients with one statement, and write an audit entry for each."""
    clients = LicenseClient.objects.filter(requester=source)
    before = {"requesterId": source.requester_id}
    after = {"requesterId": target.requester_id}
    changes = []
    for client in clients.order_by("pk"):
        client.requester = target
        changes.append(audit.build_change("license_client.updated", client, before, after))
    clients.update(requester=target)
    audit.record_all(changes)


def audited_requester(requester: Requester) -> dict[str, object]:
    """Return the fields of a licence's audit entry that name its requester."""
    return {"requesterId": requester.requester_id, "requesterName": requester.name}


def move_counters(source: int, target: int) -> None:
    """Add the source's rate-limit usage to the target's: merging gives no new allowance."""
    locked = RuleUsage.objects.select_for_update().filter(requester_id__in=(source, target))
    rows = {
        (row.requester_id, row.policy_id, bytes(row.rule)): row
        for row in locked.order_by("requester_id", "policy_id", "rule")
    }
    for (requester, policy, rule), row in rows.items():
        if requester != source:
            continue
        target_usage = rows.get((target, policy, rule))
        if target_usage is None:
            RuleUsage.objects.filter(pk=row.pk).update(requester_id=target)
            continue
        if row.window_start > target_usage.window_start:
            target_usage.window_start = row.window_start
            target_usage.used = row.used
        elif row.window_start == target_usage.window_start:
            target_usage.used += row.used
        target_usage.save(update_fields=["window_start", "used"])
        row.delete()


def move_late_counts(source: Requester) -> None:
    """Move the counts of decisions that were being recorded during the merge."""
    if source.merged_into_id is None or not wait_for_recordings():
        return
    with turn_to_write(), transaction.atomic():
        epochs.lock_epoch(source.account_id)
        move_counters(source.pk, source.merged_into_id)
