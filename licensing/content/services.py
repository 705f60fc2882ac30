"""Operations on content, used by endpoints, commands and the admin."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.auditing import audit
from accounts.plans import epochs
from kit.http.errors import AlreadyExists, ValidationFailed
from kit.rest.resources import find, unknown
from kit.values import ids
from kit.values.metadata import MAX_KEYS
from licensing.content.metadata import COLUMNS
from licensing.content.models import Content
from licensing.content.url_key import set_keys, spread_page_keys, url_epoch_names
from licensing.policies.models import Policy

# The columns that bulk updates write.
WRITTEN = ["external_id", "title", "type", "source", "source_key", "page_key", "policy", *COLUMNS.values(),
           "metadata_extra", "tags", "status", "updated"]  # fmt: skip


def apply_content(item: Content, fields: Mapping[str, Any]) -> None:
    """Set the item's fields. `metadata` is merged key by key; other fields are replaced."""
    for name, value in fields.items():
        if name == "metadata":
            merge_metadata(item, value)
        else:
            setattr(item, name, value)
    set_keys(item)


def merge_metadata(item: Content, metadata: dict[str, object] | None) -> None:
    """Merge the given keys: null removes a key, and null instead of an object removes all keys.

    Raises ValidationFailed if the item would have more than MAX_KEYS other keys.
    """
    if metadata is None:
        metadata = dict.fromkeys([*COLUMNS, *item.metadata_extra])
    extra = dict(item.metadata_extra)
    for name, value in metadata.items():
        if name in COLUMNS:
            setattr(item, COLUMNS[name], value)
        elif value is None:
            extra.pop(name, None)
        else:
            extra[name] = value
    if len(extra) > MAX_KEYS:
        raise ValidationFailed(f"An item has at most {MAX_KEYS} further metadata keys.", param="metadata")
    item.metadata_extra = extra


def linked_policy(account_id: str, policy_id: str | None) -> Policy | None:
    """Return the account's policy with this id, kept from being deleted until the link is committed.

    Returns None for None. Raises ValidationFailed if there is no such policy.
    """
    if policy_id is None:
        return None
    policy: Policy | None = Policy.objects.find(account_id, policy_id, keep=True)
    if policy is not None:
        return policy
    raise unknown_policy(policy_id)


def unknown_policy(policy_id: str, param: str = "policyId") -> ValidationFailed:
    return ValidationFailed(unknown("pol", policy_id), param=param)


def external_id_conflict(external_id: str, holder: str) -> AlreadyExists:
    """Return the error for an externalId that the item `holder` has."""
    return AlreadyExists(
        f"There is an item with the externalId {external_id!r} already: {holder}.", param="externalId"
    )


def keep_policies(account_id: str, policy_ids: Iterable[str | None]) -> set[str]:
    """Return which of these policies the account has, kept from being deleted until the transaction ends."""
    well_formed = [
        policy_id for policy_id in policy_ids if policy_id is not None and ids.decode("pol", policy_id) is not None
    ]
    return Policy.objects.keep(account_id, well_formed) if well_formed else set()


def write_items(items: Sequence[Content]) -> None:
    """Insert new items and update existing ones in one statement. Raises IntegrityError."""
    spread_page_keys(items)
    Content.objects.bulk_create(items, update_conflicts=True, unique_fields=["id"], update_fields=WRITTEN)


def epoch_names(item: Content, *, is_new: bool = False, former: Collection[str] = ()) -> set[str]:
    """Return the epoch names that a change to the item invalidates: its URLs and, unless `is_new`, the item.

    `former` are the `url_epoch_names` from before the change.
    """
    names = {*url_epoch_names(item), *former}
    return names if is_new else {ids.id_to_hex("cnt", item.pk), *names}


def save_content(item: Content, fields: Mapping[str, Any]) -> Content:
    """Save the item with these fields, unless nothing changes.

    Raises AlreadyExists if another item of the account has the externalId.
    """
    is_new = item._state.adding
    before = {} if is_new else item.audited()
    former = url_epoch_names(item)
    fields = dict(fields)
    if "policy_id" in fields:
        fields["policy"] = linked_policy(item.account_id, fields.pop("policy_id"))
    apply_content(item, fields)
    if not is_new:
        if not audit.diff(before, item.audited()):
            return item
        item.updated = timezone.now()
    spread_page_keys([item])
    try:
        with transaction.atomic(savepoint=item.external_id is not None):
            item.save(force_insert=is_new)
    except IntegrityError:
        if item.external_id is None:
            raise
        same_id = Content.objects.of(item.account_id).filter(external_id=item.external_id).exclude(pk=item.pk)
        holder = same_id.values_list("pk", flat=True).first()
        if holder is None:
            raise
        raise external_id_conflict(item.external_id, holder) from None
    audit.record("content.created" if is_new else "content.updated", item, before)
    epochs.invalidate(item.account_id, epoch_names(item, is_new=is_new, former=former))
    return item


def prepare_new_item(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a new item is created with: null means the default."""
    return {name: value for name, value in fields.items() if value is not None}


@transaction.atomic(savepoint=False)
def create_content(account_id: str, fields: Mapping[str, object]) -> Content:
    now = timezone.now()
    item = Content(account_id=account_id, created=now, updated=now)
    return save_content(item, fields)


@transaction.atomic(savepoint=False)
def update_content(item: Content, fields: Mapping[str, object]) -> Content:
    # it may have been deleted meanwhile
    locked = find(Content.objects.of(item.account_id).select_for_update(), item.pk)
    return save_content(locked, fields)


@transaction.atomic(savepoint=False)
def delete_content(item: Content) -> None:
    """Delete the item softly: the row stays for analytics."""
    locked = Content.objects.select_for_update().filter(pk=item.pk, deleted_at=None).first()
    if locked is not None:
        locked.deleted_at = timezone.now()
        locked.save(update_fields=["deleted_at"])
        audit.record("content.deleted", locked, locked.audited(), {})
        epochs.invalidate(locked.account_id, epoch_names(locked))
