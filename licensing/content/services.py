"""What can be done with content; endpoints, commands and the admin all call these."""

from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts import audit, epochs
from kit.http.errors import AlreadyExists, ValidationFailed
from kit.rest.resources import find
from kit.values import ids
from licensing.content.metadata import COLUMNS, MAX_FURTHER_KEYS
from licensing.content.models import Content
from licensing.content.url_key import source_key
from licensing.policies.models import Policy


def apply_content(item: Content, fields: dict[str, Any]) -> None:
    """Sets the item's fields to those given: `metadata` is merged a level down, everything else replaced."""
    for name, value in fields.items():
        if name == "metadata":
            merge_metadata(item, value)
        else:
            setattr(item, name, value)
    item.source_key = source_key(item.source)


def merge_metadata(item: Content, metadata: dict[str, Any] | None) -> None:
    """Merges the keys given, of which null removes one; null for the whole clears it."""
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
    if len(extra) > MAX_FURTHER_KEYS:
        raise ValidationFailed(f"An item has at most {MAX_FURTHER_KEYS} further metadata keys.", param="metadata")
    item.metadata_extra = extra


def linked_policy(account_id: str, policy_id: str | None) -> Policy | None:
    """The account's policy of that id, locked so that it cannot be deleted before the link is there."""
    if policy_id is None:
        return None
    if ids.decode("pol", policy_id) is not None:
        policy = Policy.objects.of(account_id).select_for_update().filter(pk=policy_id).first()
        if policy is not None:
            return policy
    raise ValidationFailed(f"There is no policy {policy_id[:100]!r}.", param="policyId")


def save_content(item: Content, fields: dict[str, Any], **options: Any) -> Content:
    """Writes the item. Raises AlreadyExists for an externalId that another of the account's items has."""
    action, before = ("content.created", {}) if item._state.adding else ("content.updated", item.audited())
    fields = dict(fields)
    if "policy_id" in fields:
        fields["policy"] = linked_policy(item.account_id, fields.pop("policy_id"))
    apply_content(item, fields)
    try:
        with transaction.atomic():
            item.save(**options)
    except IntegrityError:
        others = Content.objects.of(item.account_id).filter(external_id=item.external_id).exclude(pk=item.pk)
        if item.external_id is None or not others.exists():
            raise
        raise AlreadyExists(
            f"There is an item with the externalId {item.external_id!r} already.", param="externalId"
        ) from None
    audit.record(action, item, before)
    epochs.bump(item.account_id)
    return item


@transaction.atomic
def create_content(account_id: str, fields: dict[str, Any]) -> Content:
    now = timezone.now()
    item = Content(account_id=account_id, created=now, updated=now)
    return save_content(item, fields, force_insert=True)


@transaction.atomic
def update_content(item: Content, fields: dict[str, Any]) -> Content:
    locked = find(Content.objects.of(item.account_id).select_for_update(), item.pk)  # it may have gone meanwhile
    locked.updated = timezone.now()
    return save_content(locked, fields)


@transaction.atomic
def delete_content(item: Content) -> None:
    """Takes the item out of use; its row stays for the analytics that know of it."""
    locked = Content.objects.select_for_update().filter(pk=item.pk, deleted_at=None).first()
    if locked is not None:
        locked.deleted_at = timezone.now()
        locked.save(update_fields=["deleted_at"])
        audit.record("content.deleted", locked, locked.audited(), {})
        epochs.bump(locked.account_id)
