"""What other rows keep of an erased customer: decisions, licences, policies, the audit log, events and settings."""

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import cast

import orjson
from django.db import connection
from django.db.models import Q, QuerySet
from django.db.models.fields import TextField
from django.db.models.functions import Cast
from django.utils import timezone

from accounts.auditing.redaction import redacting
from accounts.events.models import Event
from accounts.models import AuditEntry, SavedFilter
from accounts.plans import epochs
from accounts.retries.redaction import redact_replies
from accounts.webhooks.models import WebhookAttempt, WebhookEndpoint
from analytics.archive.changes import note_erasure
from analytics.models import AccessEvent, ClosedLine, LedgerEntry, Payment
from kit.storage.changing import write_columns
from kit.storage.sqlite_turns import part_of_a_write
from licensing.clients.models import LicenseClient
from licensing.customers.redaction import Person, Redacted
from licensing.licenses.models import License
from licensing.policies.facts import kept_by_erasure
from licensing.policies.models import Policy, PolicyRevision
from licensing.policies.rate_limits import move_counts
from licensing.policies.services import keep_revision
from licensing.requesters.models import Requester

ROWS = 500  # read and written at a time
REDACTED_IN_ENTRIES = ("changes", "resource_type", "resource_id", "resource_title")
KEYS = 50_000  # read at a time


def whole() -> AbstractContextManager[object]:
    """Redact in one transaction on PostgreSQL, where nobody waits for it."""
    return redacting() if connection.vendor == "postgresql" else nullcontext()


@contextmanager
def part() -> Iterator[None]:
    """Commit a part on SQLite, where all writers wait for one transaction."""
    if connection.vendor == "postgresql":
        yield
        return
    with part_of_a_write(), redacting():
        yield


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
        with part():
            self.redact_licenses()
            self.redact_policies()
        self.redact_audit_log()
        self.redact_events()
        with part():
            self.redact_settings()
            redact_replies(self.account_id, self.person.json_id, self.person.redacted_bytes)

    def redact_decisions(self) -> None:
        own = AccessEvent.objects.filter(requester_id=self.requester.pk)
        in_parts(own, ("facts", "created"), self.redact_facts)

    def redact_facts(self, events: list[AccessEvent]) -> None:
        for event in events:
            event.facts = kept_by_erasure(event.facts)
        AccessEvent.objects.bulk_update(events, ["facts"])
        note_erasure(self.account_id, {event.created.date() for event in events})

    def redact_licenses(self) -> None:
        """Clear free text in its licences, clients, payments and ledger; keep terms and amounts."""
        License.objects.filter(requester=self.requester).update(metadata={})
        LicenseClient.objects.filter(requester=self.requester).update(name=self.requester.requester_id)
        Payment.objects.filter(requester=self.requester).update(note=None)
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
        for policy in chunks(self.holding(Policy._base_manager.filter(account_id=self.account_id), "rules", "tests")):
            locked = Policy._base_manager.select_for_update().get(pk=policy.pk)
            former = locked.rules, locked.tests
            locked.rules, locked.tests = map(self.person.renamed, former)
            if former == (locked.rules, locked.tests):  # another text is the same, such as an action
                continue
            locked.version, locked.updated = locked.version + 1, timezone.now()
            locked.save(update_fields=["rules", "tests", "version", "updated"])
            keep_revision(locked)
        revisions = PolicyRevision.objects.filter(policy__account_id=self.account_id)
        for revision in chunks(self.holding(revisions, "rules", "tests")):
            named = revision.rules
            revision.rules, revision.tests = self.person.renamed(named), self.person.renamed(revision.tests)
            revision.save(update_fields=["rules", "tests"])
            move_counts(revision.policy_id, named, revision.rules)
        epochs.bump(self.account_id, epochs.EVERYTHING)

    def redact_audit_log(self) -> None:
        entries = AuditEntry.objects.filter(account_id=self.account_id)
        moved: set[str] = set()  # licences and clients that a merge gave to another requester

        def redact_named(some: list[AuditEntry]) -> None:
            # Another text may be the same, such as a licence type.
            named = [entry for entry in some if self.person.is_named_in(entry.changes)]
            if self.requester.merged_into_id is not None:
                moved.update(entry.resource_id for entry in named if self.was_requester_of(entry))
            self.write_entries(named, self.redact_named_entry)

        in_parts(self.holding(entries, "changes"), REDACTED_IN_ENTRIES, redact_named)
        in_parts(
            entries.filter(resource_type="requester", resource_id=self.person.former),
            REDACTED_IN_ENTRIES,
            lambda some: self.write_entries(some, self.redact_own_entry),
        )
        owned = [
            *License.objects.filter(requester=self.requester).values_list("pk", flat=True),
            *LicenseClient.objects.filter(requester=self.requester).values_list("pk", flat=True),
        ]
        self.redact_audit_log_of(owned, entries)
        if moved:  # the last change of a merged requester is the merge
            self.redact_audit_log_of(sorted(moved), entries.filter(created__lte=self.requester.updated))

    def was_requester_of(self, entry: AuditEntry) -> bool:
        return self.person.former in entry.changes.get("requesterId", ())

    def redact_audit_log_of(self, owned: list[str], entries: QuerySet[AuditEntry]) -> None:
        """Redact the entries of the person's licences and clients."""
        for first in range(0, len(owned), ROWS):
            in_parts(
                entries.filter(resource_id__in=owned[first : first + ROWS]),
                REDACTED_IN_ENTRIES,
                lambda some: self.write_entries(some, self.redact_entry_of_owned),
            )

    def redact_named_entry(self, entry: AuditEntry) -> None:
        is_policy = entry.resource_type == "policy"
        entry.changes = self.person.renamed(entry.changes) if is_policy else self.person.changes(entry.changes)
        entry.resource_title = self.person.title(entry.resource_title)

    def redact_own_entry(self, entry: AuditEntry) -> None:
        entry.changes = {name: [None, None] for name in entry.changes}
        entry.resource_id = entry.resource_title = self.person.pseudonym

    def redact_entry_of_owned(self, entry: AuditEntry) -> None:
        entry.changes = self.person.changes(entry.changes)
        is_client = entry.resource_type == "license_client"  # its title contains its name
        entry.resource_title = self.person.pseudonym if is_client else self.person.title(entry.resource_title)

    def write_entries(self, entries: list[AuditEntry], redact: Callable[[AuditEntry], None]) -> None:
        """Redact the entries and write those that changed."""
        changed = []
        for entry in entries:
            before = entry.changes, entry.resource_title
            redact(entry)
            if before != (entry.changes, entry.resource_title):
                changed.append(entry)
        write_columns(changed, ["changes", "resource_id", "resource_title"])

    def redact_events(self) -> None:
        in_parts(
            self.holding(Event.objects.filter(account_id=self.account_id), "data", "previous"),
            ("type", "data", "previous", "object_id"),
            self.write_events,
        )

    def write_events(self, events: list[Event]) -> None:
        """Redact the events that name the person, and what endpoints replied to them."""
        named = [event for event in events if self.redact_event(event)]
        write_columns(named, ["data", "previous", "object_id"])
        WebhookAttempt.objects.filter(event__in=[event.pk for event in named]).exclude(reply="").update(reply="")

    def redact_event(self, event: Event) -> bool:
        """Redact the event in memory; return False if it does not name the person."""
        data = orjson.loads(event.data)
        previous = None if event.previous is None else orjson.loads(event.previous)
        if not self.person.is_named_in(data) and not self.person.is_named_in(previous):
            return False
        redact = self.person.renamed if event.type.startswith("policy.") else self.person.redacted
        event.data = orjson.dumps(redact(data)).decode()
        if event.previous is not None:
            event.previous = orjson.dumps(redact(previous)).decode()
        if event.object_id == self.person.former:
            event.object_id = self.person.pseudonym
        return True

    def redact_settings(self) -> None:
        endpoints = WebhookEndpoint.objects.filter(account_id=self.account_id, access_filter__isnull=False)
        for endpoint in chunks(self.holding(endpoints, "access_filter")):
            endpoint.access_filter = self.person.renamed(endpoint.access_filter)
            endpoint.save(update_fields=["access_filter"])
        saved = SavedFilter.objects.values_list("pk", "query")
        SavedFilter.objects.filter(pk__in=[pk for pk, query in saved if self.person.is_searched_by(query)]).delete()

    def holding(self, rows: QuerySet[Redacted], *fields: str) -> QuerySet[Redacted]:
        """Return the rows whose JSON contains the former id as a string in one of these fields."""
        texts = {f"text_of_{field}": Cast(field, TextField()) for field in fields}
        wanted = [(f"{text}__contains", spelling) for text in texts for spelling in self.person.spellings]
        return cast("QuerySet[Redacted]", rows.alias(**texts).filter(Q(*wanted, _connector=Q.OR)))


def in_parts(rows: QuerySet[Redacted], fields: Collection[str], change: Callable[[list[Redacted]], None]) -> None:
    """Change the rows in parts of `ROWS`, in key order. Only `fields` are read.

    Each part reads its rows again, because others may have written since the keys were read.
    """
    for keys in keys_of(rows):
        for first in range(0, len(keys), ROWS):
            with part():
                change(list(rows.model._base_manager.filter(pk__in=keys[first : first + ROWS]).only(*fields)))


def keys_of(rows: QuerySet[Redacted]) -> Iterator[list[object]]:
    """Yield the keys of the rows in lists of `KEYS`, because each query may read the whole table."""
    ordered, last = rows.order_by("pk").values_list("pk", flat=True), None
    while keys := list((ordered if last is None else ordered.filter(pk__gt=last))[:KEYS]):
        yield keys
        last = keys[-1]


def chunks(rows: QuerySet[Redacted]) -> Iterator[Redacted]:
    """Yield the rows in key order, reading `ROWS` at a time."""
    last: object = None
    ordered = rows.order_by("pk")
    while some := list((ordered if last is None else ordered.filter(pk__gt=last))[:ROWS]):
        yield from some
        last = some[-1].pk


def strings_of(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings_of(one)
