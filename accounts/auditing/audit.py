"""The audit log: who changed what, and when. Services write it, in the transaction of the change itself, so that an
entry is neither lost nor left over after a rollback:

    before = item.audited()
    …change and save the item…
    audit.record("content.updated", item, before)
    epochs.bump(item.account_id, {item.pk})

A resource's `audited()` gives the fields that the log keeps: by the API's names, as values of JSON. The actor is the
one that `kit.actors.acting_as` names: an endpoint its key, the admin its operator, a command itself.

What the log leaves out, always and on purpose:
- a key's text and its digest, an operator's password and second factor: there is nothing to undo with them;
- `created`, `updated`, `lastUsedAt`, an operator's last login, `stats`, and what follows from other fields (epochs);
- access checks, which have decisions instead; clean-ups by age; reads.
Everything else stands there as it was, also where it holds what people typed.

A change that changes nothing (a PATCH with the values that are there, revoking a revoked key) leaves no entry.

With the entry goes the event that others hear of (accounts.events), where its action has one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from django.db import transaction
from django.http import HttpRequest

from accounts.auditing.models import ActorType, AuditEntry
from accounts.events.models import Event
from accounts.events.recording import event_of, write
from kit.actors import Actor, current_actor
from kit.http.middleware import request_id

Fields = Mapping[str, object]
EMPTY: tuple[object, ...] = (None, [], {})
TITLE_CHARACTERS = 500


class Audited(Protocol):
    """A resource of the audit log: a model whose id in the API is its `pk`, or its `public_id` if it has one."""

    @property
    def pk(self) -> object: ...

    def audited(self) -> dict[str, object]:
        """Its fields by the API's names, as values of JSON."""


def differs(one: object, other: object) -> bool:
    return bool(one != other) or isinstance(one, bool) != isinstance(other, bool)  # True is not the 1 of Python


def changes(before: Fields, after: Fields) -> dict[str, list[object]]:
    """Of each field that differs its value before and after. Of what comes or goes, only what it has counts."""
    told = {name: [before.get(name), after.get(name)] for name in {**before, **after}}
    if before and after:
        return {name: pair for name, pair in told.items() if differs(*pair)}
    return {name: pair for name, pair in told.items() if not all(value in EMPTY for value in pair)}


@dataclass(slots=True)
class Change:
    """A change whose entry is not yet written, and the resource that changed."""

    entry: AuditEntry
    resource: Audited
    is_update: bool  # of what was there before and still is

    def event(self) -> Event | None:
        """Its event, if it has one. Call it when the resource is as it will be stored."""
        entry = self.entry
        return event_of(entry.account_id, entry.action, self.resource, entry.changes, is_update=self.is_update)


def entry(action: str, resource: Audited, before: Fields, after: Fields | None = None) -> Change | None:
    """The change with its entry, not yet written; None if nothing changed.

    `action` is the kind of resource and what was done to it, as in `content.updated`. `before` is {} for what has
    just been created; `after` is what the resource says now, or {} for what is deleted.
    """
    after = resource.audited() if after is None else after
    changed = changes(before, after)
    if not changed:
        return None
    actor, request = current_actor.get(), request_id.get()
    kind = action.partition(".")[0]
    made = AuditEntry(
        account_id=resource.pk if kind == "account" else getattr(resource, "account_id", None),
        actor_type=actor.type,
        actor_id=actor.id,
        actor_name=actor.name,
        action=action,
        resource_type=kind,
        resource_id=str(getattr(resource, "public_id", resource.pk)),
        resource_title=str(resource)[:TITLE_CHARACTERS],
        changes=changed,
        request_id=None if request == "-" else request,
        address=actor.address,
    )
    return Change(made, resource, is_update=bool(before and after))


def record(action: str, resource: Audited, before: Fields, after: Fields | None = None) -> None:
    """Writes the entry of a change, and its event. Call it in the change's transaction, before epochs.bump."""
    record_all([entry(action, resource, before, after)])


def record_all(made: Iterable[Change | None]) -> None:
    """Writes the entries and the events of many changes at once."""
    if not transaction.get_connection().in_atomic_block:
        raise AssertionError("An audit entry belongs into the transaction of its change.")
    written = [change for change in made if change is not None]
    AuditEntry.objects.bulk_create([change.entry for change in written])
    write([event for change in written if (event := change.event()) is not None])


def address_of(request: HttpRequest) -> str | None:
    address = getattr(request, "client_address", None)
    return str(address).partition("%")[0] if address is not None else None  # without a scope of one machine's making


def operator(request: HttpRequest) -> Actor:
    """The operator who sent a request to the admin."""
    user = request.user
    return Actor(ActorType.OPERATOR, str(user.pk), user.get_username(), address_of(request))
