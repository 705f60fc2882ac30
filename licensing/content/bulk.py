"""Bulk changes to an account's items, in chunks: one transaction per chunk and one audit entry per item."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.auditing import audit
from accounts.plans import epochs
from licensing.content.models import Content
from licensing.content.services import epoch_names, linked_policy

CHUNK = 500


def change_items(account_id: str, item_ids: Sequence[str], fields: Mapping[str, Any]) -> int:
    """Set `status` or `policy_id` of the account's items with these ids and return how many changed.

    If a chunk fails, earlier chunks stay changed; repeating the call does the rest. Raises ValidationFailed for a
    policy that the account does not have, before anything is written.
    """
    ordered = sorted(item_ids)
    return sum(
        change_chunk(account_id, ordered[first : first + CHUNK], fields) for first in range(0, len(ordered), CHUNK)
    )


@transaction.atomic
def change_chunk(account_id: str, item_ids: Sequence[str], fields: Mapping[str, Any]) -> int:
    # Lock in the same order as the endpoints: items, then the policy.
    items = list(Content.objects.of(account_id).filter(pk__in=item_ids).order_by("pk").select_for_update())
    fields = dict(fields)
    if "policy_id" in fields:
        fields["policy"] = linked_policy(account_id, fields.pop("policy_id"))
    now = timezone.now()
    changed = []
    entries = []
    for item in items:
        before = item.audited()
        for name, value in fields.items():
            setattr(item, name, value)
        entry = audit.build_change("content.updated", item, before)
        if entry is not None:
            item.updated = now
            changed.append(item)
            entries.append(entry)
    if changed:
        Content.objects.filter(pk__in=[item.pk for item in changed]).update(**fields, updated=now)
        audit.record_all(entries)
        epochs.invalidate(account_id, set().union(*map(epoch_names, changed)))
    return len(changed)
