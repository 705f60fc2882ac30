"""The audit log: who changed what, and when.

Services write entries in the transaction of the change, so that an entry is neither lost nor left behind by a
rollback:

    before = item.audited()
    …change and save the item…
    audit.record("content.updated", item, before)
    epochs.invalidate(item.account_id, {item.pk})

A resource's `audited()` returns the fields to log, with the API's names and JSON values. The actor is the current one
(`kit.actors.acting_as`): a key, an operator or a command.

Deliberately not logged:

- the text and digest of a key, an operator's password and second factor: they cannot be used to undo a change;
- `created`, `updated`, `lastUsedAt`, an operator's last login, `stats`, and values derived from other fields (epochs);
- access checks, which are recorded as decisions; deletions by age; reads.

All other values are logged as they were, even if they contain personal text.

A change without effect (a PATCH with the same values, revoking a revoked key) writes no entry.

An entry also writes the event for webhooks (accounts.events) if its action has one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from django.db import transaction
from django.http import HttpRequest

from accounts.auditing.models import ActorType, AuditEntry
from accounts.events import recording
from accounts.events.models import Event
from accounts.history.personal_members import PERSONAL
from accounts.history.rows import conceal
from kit.actors import Actor, current_actor
from kit.http.headers import request_id
from kit.values.json_values import is_same

Fields = Mapping[str, object]
BATCH_ROWS = 500
EMPTY: tuple[object, ...] = (None, [], {})
TITLE_CHARACTERS = 500


class AuditedModel(Protocol):
    """A resource in the audit log: a model whose id in the API is `pk`, or `public_id` if it has one."""

    @property
    def pk(self) -> object: ...

    def audited(self) -> dict[str, object]:
        """Return the fields to log, with the API's names and JSON values."""


def diff(before: Fields, after: Fields) -> dict[str, list[object]]:
    """Return [before, after] of each field that differs. For created and deleted resources, skips empty fields."""
    pairs = {name: [before.get(name), after.get(name)] for name in {**before, **after}}
    if before and after:
        return {name: pair for name, pair in pairs.items() if not is_same(*pair)}
    return {name: pair for name, pair in pairs.items() if not all(value in EMPTY for value in pair)}


@dataclass(slots=True)
class Change:
    """A change with its unwritten entry and the resource that changed."""

    entry: AuditEntry
    resource: AuditedModel
    is_update: bool  # neither a creation nor a deletion

    def event(self) -> Event | None:
        """Return the change's event, or None. Call it when the resource has its final state."""
        entry = self.entry
        return recording.build_event(
            entry.account_id, entry.action, self.resource, entry.changes, is_update=self.is_update
        )


def build_change(action: str, resource: AuditedModel, before: Fields, after: Fields | None = None) -> Change | None:
    """Build the change with its unwritten entry; None if nothing changed.

    `action` names the kind of resource and what happened, as in `content.updated`. `before` is {} for a new resource;
    `after` defaults to the resource's current fields, and is {} for a deleted one.
    """
    after = resource.audited() if after is None else after
    changed = diff(before, after)
    if not changed:
        return None
    actor = current_actor.get()
    current_request_id = request_id.get()
    kind = action.partition(".")[0]
    log_entry = AuditEntry(
        account_id=resource.pk if kind == "account" else getattr(resource, "account_id", None),
        actor_type=actor.type,
        actor_id=actor.id,
        actor_name=actor.name,
        action=action,
        resource_type=kind,
        resource_id=str(getattr(resource, "public_id", resource.pk)),
        resource_title=str(resource)[:TITLE_CHARACTERS],
        changes=changed,
        request_id=None if current_request_id == "-" else current_request_id,
        address=actor.address,
    )
    if kind in PERSONAL:
        log_entry.owner = owner_of(resource)
    return Change(log_entry, resource, is_update=bool(before and after))


def owner_of(resource: AuditedModel) -> str | None:
    """Return the own id of the customer that has the resource, or that is the resource."""
    customer = getattr(resource, "requester", resource)
    return getattr(customer, "requester_id", None)


def record(action: str, resource: AuditedModel, before: Fields, after: Fields | None = None) -> None:
    """Write a change's entry and event. Call it in the change's transaction, before epochs.invalidate."""
    record_all([build_change(action, resource, before, after)])


def record_all(changes: Iterable[Change | None]) -> None:
    """Write the entries and events of many changes in bulk."""
    if not transaction.get_connection().in_atomic_block:
        raise AssertionError("An audit entry belongs into the transaction of its change.")
    effective = [change for change in changes if change is not None]
    entries = [change.entry for change in effective]
    events = [event for change in effective if (event := change.event()) is not None]
    conceal([*entries, *events])  # together, because both need the same customers' keys
    AuditEntry.objects.bulk_create(entries, batch_size=BATCH_ROWS)
    recording.write_events(events)


def client_address_text(request: HttpRequest) -> str | None:
    address = getattr(request, "client_address", None)
    # without a scope id, which is local to one machine
    return str(address).partition("%")[0] if address is not None else None


def operator_actor(request: HttpRequest) -> Actor:
    """Return the operator who sent an admin request."""
    user = request.user
    return Actor(ActorType.OPERATOR, str(user.pk), user.get_username(), client_address_text(request))
