"""Operations on content, for endpoints, commands and the admin."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.auditing import audit
from accounts.plans import epochs
from kit.http.errors import AlreadyExists, ValidationFailed
from kit.rest.metadata import MAX_KEYS
from kit.rest.resources import find
from kit.values import ids
from licensing.content.metadata import COLUMNS
from licensing.content.models import Content
from licensing.content.url_key import set_keys, spread_page_keys, url_names
from licensing.policies.models import Policy

# What a change of many items writes of each.
WRITTEN = ["external_id", "title", "type", "source", "source_key", "page_key", "policy", *COLUMNS.values(),
           "metadata_extra", "tags", "status", "updated"]  # fmt: skip


def apply_content(item: Content, fields: Mapping[str, Any]) -> None:
    """Sets the item's fields: `metadata` is merged key by key, everything else replaced."""
    for name, value in fields.items():
        if name == "metadata":
            merge_metadata(item, value)
        else:
            setattr(item, name, value)
    set_keys(item)


def merge_metadata(item: Content, metadata: dict[str, object] | None) -> None:
    """Merges the keys given: a null removes a key, null instead of an object all of them."""
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
    """The account's policy of that id, locked so that it cannot be deleted before the link is there."""
    if policy_id is None:
        return None
    policy: Policy | None = Policy.objects.one(account_id, policy_id, lock=True)
    if policy is not None:
        return policy
    raise unknown_policy(policy_id)


def unknown_policy(policy_id: str, param: str = "policyId") -> ValidationFailed:
    return ValidationFailed(f"There is no policy {policy_id[:100]!r}.", param=param)


def taken(external_id: str) -> AlreadyExists:
    return AlreadyExists(f"There is an item with the externalId {external_id!r} already.", param="externalId")


def lock_policies(account_id: str, policy_ids: Iterable[str | None]) -> set[str]:
    """Which of these the account has; none of them can be deleted before the transaction ends."""
    possible = [one for one in policy_ids if ids.decode("pol", one) is not None]
    if not possible:
        return set()
    owned = Policy.objects.of(account_id).filter(pk__in=possible).order_by("pk")
    return set(owned.select_for_update().values_list("pk", flat=True))


def write_items(items: Sequence[Content]) -> None:
    """Inserts the items that are new and updates the others, in one statement. Raises IntegrityError."""
    spread_page_keys(items)
    Content.objects.bulk_create(items, update_conflicts=True, unique_fields=["id"], update_fields=WRITTEN)


def epoch_names(item: Content, *, is_new: bool = False, former: Collection[str] = ()) -> set[str]:
    """Cache names that a change of the item invalidates: the item, unless it `is_new`, and its URLs.

    `former` are the `url_names` that it had before.
    """
    names = {*url_names(item), *former}
    return names if is_new else {ids.hex_of("cnt", item.pk), *names}


def save_content(item: Content, fields: Mapping[str, Any]) -> Content:
    """Writes the item, unless nothing of it changes.

    Raises AlreadyExists for an externalId that another of the account's items has.
    """
    is_new = item._state.adding
    action, before = ("content.created", {}) if is_new else ("content.updated", item.audited())
    former = url_names(item)
    fields = dict(fields)
    if "policy_id" in fields:
        fields["policy"] = linked_policy(item.account_id, fields.pop("policy_id"))
    apply_content(item, fields)
    if not is_new:
        if not audit.changes(before, item.audited()):
            return item
        item.updated = timezone.now()
    spread_page_keys([item])
    try:
        with transaction.atomic(savepoint=item.external_id is not None):
            item.save(force_insert=is_new)
    except IntegrityError:
        others = Content.objects.of(item.account_id).filter(external_id=item.external_id).exclude(pk=item.pk)
        if item.external_id is None or not others.exists():
            raise
        raise taken(item.external_id) from None
    audit.record(action, item, before)
    epochs.bump(item.account_id, epoch_names(item, is_new=is_new, former=former))
    return item


def of_a_new_item(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that count at creation: a null is as good as none, and the status is the service's to set."""
    return {name: value for name, value in fields.items() if value is not None and name != "status"}


@transaction.atomic(savepoint=False)
def create_content(account_id: str, fields: Mapping[str, object]) -> Content:
    now = timezone.now()
    item = Content(account_id=account_id, created=now, updated=now)
    return save_content(item, fields)


@transaction.atomic(savepoint=False)
def update_content(item: Content, fields: Mapping[str, object]) -> Content:
    locked = find(Content.objects.of(item.account_id).select_for_update(), item.pk)  # it may have gone meanwhile
    return save_content(locked, fields)


@transaction.atomic(savepoint=False)
def delete_content(item: Content) -> None:
    """Takes the item out of use; its row stays for the analytics that know of it."""
    locked = Content.objects.select_for_update().filter(pk=item.pk, deleted_at=None).first()
    if locked is not None:
        locked.deleted_at = timezone.now()
        locked.save(update_fields=["deleted_at"])
        audit.record("content.deleted", locked, locked.audited(), {})
        epochs.bump(locked.account_id, epoch_names(locked))
