"""Erase copies of customers' data in decisions, licences, policies, the audit log, events and settings."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import TypeVar, cast

import orjson
from django.db.models import JSONField, Model, Q, QuerySet
from django.db.models.fields import TextField
from django.db.models.functions import Cast
from django.utils import timezone

from accounts.auditing.redaction import redacting
from accounts.events.models import Event
from accounts.events.types import TYPES
from accounts.models import AuditEntry, SavedFilter
from accounts.plans import epochs
from accounts.retries.redaction import erase_replies, find_replies
from accounts.webhooks.models import WebhookAttempt, WebhookEndpoint
from analytics.archive.changes import note_erasure
from analytics.models import AccessEvent, ClosedLine, LedgerEntry, Payment, Wallet
from kit.storage.sqlite_turns import others_wait, part_of_a_write, rows_at_a_time
from licensing.clients.models import LicenseClient
from licensing.customers.personal_members import ErasedIds, erased_changes, erased_object, path_of_id
from licensing.licenses.models import License
from licensing.policies.facts import kept_by_erasure
from licensing.policies.models import Policy, PolicyRevision
from licensing.policies.rate_limits import move_counts
from licensing.policies.services import save_revision
from licensing.requesters.models import Requester

ROWS = 200  # redacted at a time on SQLite: other writers wait meanwhile
MORE_ROWS = 5_000  # on PostgreSQL, where nobody waits, and a statement for few rows may read a whole table
KEYS = 50_000  # read at a time
# What customers have, by the kind of resource in the audit log. A merge moves licences, clients and wallets.
POSSESSIONS: dict[str, type[Model]] = {
    "license": License,
    "license_client": LicenseClient,
    "wallet": Wallet,
    "payment": Payment,
}
# Their texts name requesters wherever operators wrote their ids.
WRITTEN_BY_OPERATORS = ("policy", "webhook_endpoint")

Row = TypeVar("Row", bound=Model)


def types_about(*kinds: str) -> list[str]:
    """Return the types of events about these kinds of objects."""
    return [event_type.name for event_type in TYPES if event_type.object in kinds]


def one_transaction_on_postgresql() -> AbstractContextManager[object]:
    """Redact in one transaction on PostgreSQL, where nobody waits for it."""
    return nullcontext() if others_wait() else redacting()


@contextmanager
def part_transaction_on_sqlite() -> Iterator[None]:
    """Commit a part on SQLite, where all writers wait for one transaction."""
    if not others_wait():
        yield
        return
    with part_of_a_write(), redacting():
        yield


class Copies:
    """Copies of the data of some customers of an account in other tables.

    The customers already have their pseudonyms. They are one customer and those merged into it, or a single merged
    customer.
    """

    def __init__(self, people: Sequence[Requester]) -> None:
        self.people = people
        self.account_id = people[0].account_id
        self.numbers = [person.pk for person in people]
        self.pseudonyms: dict[str, str] = {}
        for person in people:
            self.pseudonyms[person.requester_id] = person.requester_id
            if person.erasing is not None:
                self.pseudonyms[str(cast("dict[str, object]", person.erasing)["id"])] = person.requester_id
        self.former = ErasedIds({id: pseudonym for id, pseudonym in self.pseudonyms.items() if id != pseudonym})

    def redact(self) -> None:
        # Writers of webhook events lock the endpoints first, so later writers read the redacted rows.
        list(WebhookEndpoint.objects.select_for_update().filter(account_id=self.account_id).order_by("pk"))
        self.redact_decisions()
        with part_transaction_on_sqlite():
            self.redact_licenses()
            self.redact_policies()
        self.redact_own_history()
        self.redact_possessions()
        self.redact_history_that_names_them()
        replies = find_replies(ErasedIds(self.pseudonyms).are_named_in, self.account_id)
        with part_transaction_on_sqlite():
            self.redact_texts_of_operators()
            self.redact_settings()
            erase_replies(self.account_id, replies)

    def redact_decisions(self) -> None:
        decisions = AccessEvent.objects.filter(requester_id__in=self.numbers)
        for keys in read_keys(decisions, ROWS):
            with part_transaction_on_sqlite():
                self.redact_facts(list(AccessEvent.objects.filter(pk__in=keys).only("facts", "created")))

    def redact_facts(self, decisions: list[AccessEvent]) -> None:
        for decision in decisions:
            decision.facts = kept_by_erasure(decision.facts)
        AccessEvent.objects.bulk_update(decisions, ["facts"])
        note_erasure(self.account_id, {decision.created.date() for decision in decisions})

    def redact_licenses(self) -> None:
        """Clear free text in their licences, clients, payments and ledger; keep terms and amounts."""
        License.objects.filter(requester__in=self.numbers).update(metadata={})
        for person in self.people:
            LicenseClient.objects.filter(requester=person).update(name=person.requester_id)
        Payment.objects.filter(requester__in=self.numbers).update(note=None)
        for model in (LedgerEntry, ClosedLine):
            model._base_manager.filter(
                account_id=self.account_id, requester_id__in=self.numbers, description__isnull=False
            ).update(description=None)

    def redact_policies(self) -> None:
        """Replace the ids by pseudonyms in rules and tests, so that they do not match later requesters with such an
        id.

        Policies that named one get a new version, because processes cache the rules of a version. The counts of their
        rate limits continue.
        """
        for policy in read_in_chunks(
            self.holding(Policy._base_manager.filter(account_id=self.account_id), "rules", "tests")
        ):
            locked = Policy._base_manager.select_for_update().get(pk=policy.pk)
            former = locked.rules, locked.tests
            locked.rules, locked.tests = map(self.former.renamed, former)
            if former == (locked.rules, locked.tests):  # another text is the same, such as an action
                continue
            locked.version = locked.version + 1
            locked.updated = timezone.now()
            locked.save(update_fields=["rules", "tests", "version", "updated"])
            save_revision(locked)
        revisions = PolicyRevision.objects.filter(policy__account_id=self.account_id)
        for revision in read_in_chunks(self.holding(revisions, "rules", "tests")):
            rules = revision.rules
            revision.rules = self.former.renamed(rules)
            revision.tests = self.former.renamed(revision.tests)
            revision.save(update_fields=["rules", "tests"])
            move_counts(revision.policy_id, rules, revision.rules)
        epochs.bump(self.account_id, epochs.EVERYTHING)

    def redact_own_history(self) -> None:
        """Redact the entries and events about the customers themselves."""
        for person in self.people:
            ids = [id for id, pseudonym in self.pseudonyms.items() if pseudonym == person.requester_id]
            names = {"resource_id": person.requester_id, "resource_title": person.requester_id}
            self.redact_entries(
                "requester", self.entries.filter(resource_type="requester", resource_id__in=ids), **names
            )
            events = self.events.filter(object_id__in=ids, type__in=types_about("requester"))
            self.redact_events("requester", events)
            with part_transaction_on_sqlite():
                events.update(object_id=person.requester_id)
                for name in types_about("requester"):
                    titles = [f"{name} {id}" for id in ids]
                    redelivered = self.entries.filter(resource_type="event", resource_title__in=titles)
                    redelivered.update(resource_title=f"{name} {person.requester_id}")

    def redact_possessions(self) -> None:
        """Redact the entries and events of their licences, licence clients, wallets and payments."""
        merged_into = {person.merged_into_id for person in self.people} - {None}
        holders = {*self.numbers, *merged_into}
        for kind, model in POSSESSIONS.items():
            for keys in read_keys(model._base_manager.filter(requester__in=holders), rows_of_part()):
                self.redact_possession_history(kind, keys)

    def redact_possession_history(self, kind: str, keys: list[object]) -> None:
        # Without the account: by its index, each part could read all of its history.
        entries = AuditEntry.objects.filter(resource_id__in=keys)
        merged = self.people[0]
        if merged.merged_into_id is not None:  # some may have been the other customer's all along
            naming_entries = entries.filter(self.names_requester("changes__requesterId__0", "changes__requesterId__1"))
            keys = list(naming_entries.values_list("resource_id", flat=True))
            # The last change of a merged customer is the merge.
            entries = AuditEntry.objects.filter(resource_id__in=keys, created__lte=merged.updated)
        if kind == "license_client":
            self.redact_entries(kind, entries, resource_title=merged.requester_id)  # it contained the client's name
        else:
            self.redact_entries(kind, entries)
            self.redact_events(kind, Event.objects.filter(object_id__in=keys))

    def redact_history_that_names_them(self) -> None:
        """Redact entries and events that are not found by what the customers have, but by their ids in them."""
        naming_entries = self.entries.filter(self.names_requester("changes__requesterId__1"))
        sessions = naming_entries.filter(resource_type="portal_session")
        self.redact_entries("portal_session", sessions, resource_title="portal session")
        self.redact_entries("ledger_entry", naming_entries.filter(resource_type="ledger_entry"))
        merges = self.entries.filter(self.names_requester("changes__into__1"), resource_type="requester")
        self.redact_entries("requester", merges)
        for kind in ("ledger_entry", "access_summary", "limit"):
            self.redact_events(kind, self.events.filter(type__in=types_about(kind)))

    def redact_entries(self, kind: str, entries: QuerySet[AuditEntry], **values: str) -> None:
        """Redact the entries of the audit log, and write these values to them."""
        changes = erased_changes(kind, self.pseudonyms)
        write_in_parts(entries, lambda keys: AuditEntry.objects.filter(pk__in=keys).update(changes=changes, **values))

    def redact_events(self, kind: str, events: QuerySet[Event]) -> None:
        """Redact those of the events that are about the customers, and what endpoints replied to them."""
        parsed_events = events.alias(shown=Cast("data", JSONField()), former=Cast("previous", JSONField()))
        about = parsed_events.filter(self.names_requester("__".join(("shown", *path_of_id(kind)))))
        erased = {name: erased_object(name, kind, self.pseudonyms) for name in ("data", "previous")}
        write_in_parts(about, partial(self.write_events, values=erased))
        if self.people[0].merged_into_id is not None:  # the merge's own events are about the other customer
            merges = parsed_events.filter(self.names_requester("former__requesterId"))
            write_in_parts(merges, partial(self.write_events, values={"previous": erased["previous"]}))

    def write_events(self, keys: list[object], values: Mapping[str, object]) -> None:
        Event.objects.filter(pk__in=keys).update(**values)
        WebhookAttempt.objects.filter(event__in=keys).exclude(reply="").update(reply="")

    def redact_texts_of_operators(self) -> None:
        """Replace the ids by pseudonyms in the history of policies and webhook endpoints."""
        entries = self.entries.filter(resource_type__in=WRITTEN_BY_OPERATORS)
        for entry in read_in_chunks(self.holding(entries, "changes")):
            entry.changes = self.former.renamed(entry.changes)
            entry.save(update_fields=["changes"])
        events = self.events.filter(type__in=types_about(*WRITTEN_BY_OPERATORS))
        for event in read_in_chunks(self.holding(events, "data", "previous")):
            previous = None if event.previous is None else self.renamed_text(event.previous)
            self.write_events([event.pk], {"data": self.renamed_text(event.data), "previous": previous})

    def renamed_text(self, text: str) -> str:
        return orjson.dumps(self.former.renamed(orjson.loads(text))).decode()

    def redact_settings(self) -> None:
        endpoints = WebhookEndpoint.objects.filter(account_id=self.account_id, access_filter__isnull=False)
        for endpoint in read_in_chunks(self.holding(endpoints, "access_filter")):
            endpoint.access_filter = self.former.renamed(endpoint.access_filter)
            endpoint.save(update_fields=["access_filter"])
        saved = SavedFilter.objects.values_list("pk", "query")
        searches = [pk for pk, query in saved if self.former.is_searched_by(query)]
        SavedFilter.objects.filter(pk__in=searches).delete()

    @property
    def entries(self) -> QuerySet[AuditEntry]:
        return AuditEntry.objects.filter(account_id=self.account_id)

    @property
    def events(self) -> QuerySet[Event]:
        return Event.objects.filter(account_id=self.account_id)

    def names_requester(self, *members: str) -> Q:
        """Return the condition that one of the JSON members is one of the ids."""
        return Q(*((f"{member}__in", list(self.pseudonyms)) for member in members), _connector=Q.OR)

    def holding(self, rows: QuerySet[Row], *fields: str) -> QuerySet[Row]:
        """Return the rows whose JSON contains a former id as a string in one of these fields."""
        if not self.former.pseudonyms:
            return rows.none()
        texts = {f"text_of_{field}": Cast(field, TextField()) for field in fields}
        lookups = [(f"{text}__contains", spelling) for text in texts for spelling in self.former.spellings]
        return cast("QuerySet[Row]", rows.alias(**texts).filter(Q(*lookups, _connector=Q.OR)))


def rows_of_part() -> int:
    return rows_at_a_time(MORE_ROWS, ROWS)


def chunks(keys: list[object], size: int) -> Iterator[list[object]]:
    for first in range(0, len(keys), size):
        yield keys[first : first + size]


def write_in_parts(rows: QuerySet[Row], write: Callable[[list[object]], object]) -> None:
    """Pass the rows' keys to `write`, as many at a time as a part may write."""
    for keys in chunks(list(rows.values_list("pk", flat=True)), rows_of_part()):
        with part_transaction_on_sqlite():
            write(keys)


def read_keys(rows: QuerySet[Row], size: int) -> Iterator[list[object]]:
    """Yield the keys of the rows in lists of `size`. Queries read `KEYS`, because each may read the whole table."""
    ordered = rows.order_by("pk").values_list("pk", flat=True)
    last = None
    while keys := list((ordered if last is None else ordered.filter(pk__gt=last))[:KEYS]):
        yield from chunks(keys, size)
        last = keys[-1]


def read_in_chunks(rows: QuerySet[Row]) -> Iterator[Row]:
    """Yield the rows in key order, reading `ROWS` at a time."""
    last: object = None
    ordered = rows.order_by("pk")
    while some := list((ordered if last is None else ordered.filter(pk__gt=last))[:ROWS]):
        yield from some
        last = some[-1].pk
