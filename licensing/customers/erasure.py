"""Erase the personal data of a requester: first its row, then every copy in other tables.

Decisions, totals, the ledger, licences and wallets remain under a pseudonym.

`begin` commits the pseudonym and invalidates caches. Decisions being recorded at that moment may still contain the
former data, so `finish` waits for them before it redacts. `erasing` stores the remaining work, so that the upkeep of
another process finishes it after a crash.
"""

import secrets
from collections.abc import Iterator
from datetime import date
from typing import cast

import orjson
from django.db import connection, transaction
from django.db.models import Model, Q, QuerySet
from django.db.models.fields import TextField
from django.db.models.functions import Cast
from django.utils import timezone

from accounts.auditing import audit
from accounts.auditing.redaction import redacting
from accounts.events.models import Event
from accounts.models import AuditEntry, SavedFilter
from accounts.plans import epochs
from accounts.retries.redaction import redact_replies
from accounts.webhooks.models import WebhookAttempt, WebhookEndpoint
from analytics.archive.changes import note_erasure
from analytics.models import AccessEvent, ClosedLine, LedgerEntry, Payment
from kit.storage.sqlite_turns import turn_to_write
from licensing.clients.models import LicenseClient
from licensing.clients.services import revoke_client
from licensing.customers.recordings import wait_for_recordings
from licensing.customers.redaction import Person, Redacted
from licensing.licenses.models import License
from licensing.policies.facts import kept_by_erasure
from licensing.policies.models import Policy, PolicyRevision
from licensing.policies.rate_limits import move_counts
from licensing.policies.services import keep_revision
from licensing.requesters import services
from licensing.requesters.models import Requester

ROWS = 500  # read and written at a time


def erase(requester: Requester) -> Requester:
    """Erase the requester's personal data. Do not call it inside a transaction."""
    erased = begin(requester)
    finish(erased.pk)
    return erased


@transaction.atomic
def begin(requester: Requester) -> Requester:
    """Replace the requester's id by a pseudonym and clear its row, and those of requesters merged into it.

    Revokes its licence clients. Raises NotFound.
    """
    epochs.hold(requester.account_id)
    locked = services.get(requester.account_id, requester.requester_id, lock=True)
    for one in (locked, *Requester.objects.select_for_update().filter(merged_into=locked).order_by("pk")):
        replace_by_pseudonym(one)
    return locked


def replace_by_pseudonym(locked: Requester) -> None:
    """Begin the erasure of one requester. An erased one keeps its pseudonym and loses what it was given since."""
    texts, is_new = texts_of(locked), not locked.is_erased
    has_data = bool(locked.name or locked.email or locked.notes or locked.metadata)
    if locked.erasing is None:
        locked.erasing = {"id": locked.requester_id, "texts": texts}
    else:  # an interrupted erasure has the former id; what was given since is stored under the pseudonym
        erasing = cast("dict[str, list[str]]", locked.erasing)
        locked.erasing = {**erasing, "later": [*erasing.get("later", []), *texts]}
    if is_new:
        locked.requester_id, locked.is_erased = f"erased_{secrets.token_hex(12)}", True
    locked.name = locked.email = locked.notes = None
    locked.metadata = {}
    locked.save()
    locked.former_names.all().delete()
    for client in LicenseClient.objects.filter(requester=locked, revoked_at=None):
        revoke_client(client)
    if is_new or has_data:  # otherwise only others, such as payments, may have new data
        services.renew(locked)
        audit.record("requester.erased", locked, {})
        epochs.bump(locked.account_id, {locked.epoch_name})


def texts_of(requester: Requester) -> list[str]:
    values = [requester.name, requester.email, requester.notes, *requester.metadata.values()]
    return [value for value in values if isinstance(value, str)]


def finish(number: int) -> None:
    """Redact every copy of the requester's data in other tables. Idempotent."""
    if connection.vendor == "postgresql":
        wait_for_recordings()
    with turn_to_write(), redacting():
        requester = Requester.objects.select_for_update().get(pk=number)
        for one in (requester, *Requester.objects.select_for_update().filter(merged_into=requester).order_by("pk")):
            if one.erasing is not None:
                Copies(one).redact()
                if (later := one.erasing.get("later")) is not None:
                    one.erasing = {"id": one.requester_id, "texts": later}
                    Copies(one).redact()
                one.erasing = None
                one.save(update_fields=["erasing"])


def finish_all() -> int:
    """Finish interrupted erasures; return their number."""
    waiting = list(Requester.objects.filter(erasing__isnull=False).values_list("pk", flat=True))
    for number in waiting:
        finish(number)
    return len(waiting)


class Copies:
    """Copies of a requester's data in other tables. The requester already has its pseudonym."""

    def __init__(self, requester: Requester) -> None:
        self.requester, self.account_id = requester, requester.account_id
        erasing = cast("dict[str, object]", requester.erasing)
        former = str(erasing["id"])
        own = AuditEntry.objects.filter(account_id=self.account_id, resource_type="requester", resource_id=former)
        texts = {str(text) for text in cast("list[str]", erasing["texts"])}
        for changes in own.values_list("changes", flat=True):
            texts |= {one for pair in changes.values() for value in pair for one in strings_of(value)}
        texts |= set(LicenseClient.objects.filter(requester=requester).values_list("name", flat=True))
        self.person = Person(former, requester.requester_id, frozenset(texts - {"", former}))

    def redact(self) -> None:
        # Writers of webhook events lock the endpoints first, so later writers read the redacted rows.
        list(WebhookEndpoint.objects.select_for_update().filter(account_id=self.account_id).order_by("pk"))
        self.redact_decisions()
        self.redact_licenses()
        self.redact_policies()
        self.redact_audit_log()
        self.redact_events()
        self.redact_settings()
        redact_replies(self.account_id, self.person.json_id, self.person.redacted_bytes)

    def redact_decisions(self) -> None:
        own = AccessEvent.objects.filter(requester_id=self.requester.pk).only("id", "facts", "created")
        days: set[date] = set()
        for events in chunks(own):
            for event in events:
                event.facts = kept_by_erasure(event.facts)
            AccessEvent.objects.bulk_update(events, ["facts"])
            days |= {event.created.date() for event in events}
        note_erasure(self.account_id, days)

    def redact_licenses(self) -> None:
        """Clear free text in its licences, clients, payments and ledger; keep terms and amounts."""
        License.objects.filter(requester=self.requester).update(metadata={})
        LicenseClient.objects.filter(requester=self.requester).update(name=self.requester.requester_id)
        Payment.objects.filter(requester=self.requester).update(note=None, void_reason=None)
        for model in (LedgerEntry, ClosedLine):
            model._base_manager.filter(
                account_id=self.account_id, requester_id=self.requester.pk, description__isnull=False
            ).update(description=None)

    def redact_policies(self) -> None:
        """Replace the id by the pseudonym in rules and tests, so that they do not match a later requester with that
        id.

        Policies that named it get a new version, because processes cache the rules of a version. The counts of their
        rate limits continue.
        """
        for policy in self.holding(Policy._base_manager.filter(account_id=self.account_id), "rules", "tests"):
            locked = Policy._base_manager.select_for_update().get(pk=policy.pk)
            former = locked.rules, locked.tests
            locked.rules, locked.tests = map(self.person.renamed, former)
            if former == (locked.rules, locked.tests):  # another text is the same, such as an action
                continue
            locked.version, locked.updated = locked.version + 1, timezone.now()
            locked.save(update_fields=["rules", "tests", "version", "updated"])
            keep_revision(locked)
        revisions = PolicyRevision.objects.filter(policy__account_id=self.account_id)
        for revision in self.holding(revisions, "rules", "tests"):
            named = revision.rules
            revision.rules, revision.tests = self.person.renamed(named), self.person.renamed(revision.tests)
            revision.save(update_fields=["rules", "tests"])
            move_counts(revision.policy_id, named, revision.rules)
        epochs.bump(self.account_id, epochs.EVERYTHING)

    def redact_audit_log(self) -> None:
        entries = AuditEntry.objects.filter(account_id=self.account_id)
        moved: set[str] = set()  # licences and clients that a merge gave to another requester
        for entry in self.holding(entries, "changes"):
            if not self.person.is_named_in(entry.changes):  # another text is the same, such as a licence type
                continue
            if self.requester.merged_into_id is not None and self.person.former in entry.changes.get(
                "requesterId", ()
            ):
                moved.add(entry.resource_id)
            is_policy = entry.resource_type == "policy"
            entry.changes = self.person.renamed(entry.changes) if is_policy else self.person.changes(entry.changes)
            entry.resource_title = self.person.title(entry.resource_title)
            entry.save(update_fields=["changes", "resource_title"])
        for entry in entries.filter(resource_type="requester", resource_id=self.person.former):
            entry.changes = {name: [None, None] for name in entry.changes}
            entry.resource_id = entry.resource_title = self.person.pseudonym
            entry.save(update_fields=["changes", "resource_id", "resource_title"])
        owned = [
            *License.objects.filter(requester=self.requester).values_list("pk", flat=True),
            *LicenseClient.objects.filter(requester=self.requester).values_list("pk", flat=True),
        ]
        self.redact_audit_log_of(owned, entries)
        if moved:  # the last change of a merged requester is the merge
            self.redact_audit_log_of(sorted(moved), entries.filter(created__lte=self.requester.updated))

    def redact_audit_log_of(self, owned: list[str], entries: QuerySet[AuditEntry]) -> None:
        """Redact the entries of the person's licences and clients."""
        for first in range(0, len(owned), ROWS):
            for entry in entries.filter(resource_id__in=owned[first : first + ROWS]):
                entry.changes = self.person.changes(entry.changes)
                is_client = entry.resource_type == "license_client"  # its title contains its name
                entry.resource_title = self.person.pseudonym if is_client else self.person.title(entry.resource_title)
                entry.save(update_fields=["changes", "resource_title"])

    def redact_events(self) -> None:
        for event in self.holding(Event.objects.filter(account_id=self.account_id), "data", "previous"):
            if not any(map(self.person.is_named_in, read_event(event))):
                continue
            is_policy = event.type.startswith("policy.")
            redact = self.person.renamed if is_policy else self.person.redacted
            event.data = orjson.dumps(redact(orjson.loads(event.data))).decode()
            if event.previous is not None:
                event.previous = orjson.dumps(redact(orjson.loads(event.previous))).decode()
            if event.object_id == self.person.former:
                event.object_id = self.person.pseudonym
            event.save(update_fields=["data", "previous", "object_id"])
            WebhookAttempt.objects.filter(event=event).update(reply="")

    def redact_settings(self) -> None:
        endpoints = WebhookEndpoint.objects.filter(account_id=self.account_id, access_filter__isnull=False)
        for endpoint in self.holding(endpoints, "access_filter"):
            endpoint.access_filter = self.person.renamed(endpoint.access_filter)
            endpoint.save(update_fields=["access_filter"])
        saved = SavedFilter.objects.values_list("pk", "query")
        SavedFilter.objects.filter(pk__in=[pk for pk, query in saved if self.person.is_searched_by(query)]).delete()

    def holding(self, rows: QuerySet[Redacted], *fields: str) -> Iterator[Redacted]:
        """Yield the rows whose JSON contains the former id as a string in one of these fields."""
        texts = {f"text_of_{field}": Cast(field, TextField()) for field in fields}
        wanted = [(f"{text}__contains", spelling) for text in texts for spelling in self.person.spellings]
        found = rows.annotate(**texts).filter(Q(*wanted, _connector=Q.OR))
        for some in chunks(cast("QuerySet[Redacted]", found)):
            yield from some


def read_event(event: Event) -> list[object]:
    return [orjson.loads(text) for text in (event.data, event.previous) if text is not None]


def chunks(rows: QuerySet[Redacted]) -> Iterator[list[Redacted]]:
    """Yield the rows in lists of `ROWS`, in key order, so that changed rows are not read again."""
    last: object = None
    ordered = rows.order_by("pk")
    while some := list((ordered if last is None else ordered.filter(pk__gt=last))[:ROWS]):
        yield some
        last = cast("Model", some[-1]).pk


def strings_of(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings_of(one)
