"""Erase copies of customers' data in decisions, licences, policies, the audit log, events and settings."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC
from itertools import chain
from typing import TypeVar, cast

import orjson
from django.db import connection
from django.db.models import Model, Q, QuerySet
from django.db.models.fields import TextField
from django.db.models.functions import Cast
from django.utils import timezone

from accounts.auditing.redaction import redacting
from accounts.events.event_types import TYPES
from accounts.events.models import Event
from accounts.models import AuditEntry, SavedFilter
from accounts.plans import epochs
from accounts.retries.redaction import erase_replies, find_replies
from accounts.webhooks.models import WebhookAttempt, WebhookEndpoint
from analytics.archive.changes import note_erasure
from analytics.models import AccessEvent, ClosedLine, LedgerEntry, Payment
from analytics.usage.subject_usage import months_with_decisions
from kit.storage.loading import prepare
from kit.storage.reading import in_chunks
from kit.storage.sqlite_turns import others_wait, part_of_a_write, rows_at_a_time
from licensing.clients.models import LicenseClient
from licensing.customers import history
from licensing.customers.pseudonyms import Pseudonyms
from licensing.licenses.models import License
from licensing.policies.facts import kept_by_erasure
from licensing.policies.models import Policy, PolicyRevision
from licensing.policies.rate_limits import move_counts
from licensing.policies.services import save_revision
from licensing.requesters.models import Requester

ROWS = 200  # redacted at a time on SQLite: other writers wait meanwhile
MORE_ROWS = 5_000  # on PostgreSQL, where nobody waits, and a statement for few rows may read a whole table
KEYS = 50_000  # read at a time
# Their texts name requesters wherever operators wrote their ids.
WRITTEN_BY_OPERATORS = ("policy", "webhook_endpoint")
TYPES_BY_OPERATORS = [event_type.name for event_type in TYPES if event_type.object in WRITTEN_BY_OPERATORS]

Row = TypeVar("Row", bound=Model)


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
        self.former = Pseudonyms({id: pseudonym for id, pseudonym in self.pseudonyms.items() if id != pseudonym})

    def redact(self) -> None:
        # Writers of webhook events lock the endpoints first, so later writers read the redacted rows.
        list(WebhookEndpoint.objects.select_for_update().filter(account_id=self.account_id).order_by("pk"))
        self.redact_decisions()
        with part_transaction_on_sqlite():
            self.redact_licenses()
            self.redact_policies()
        history.drop_former_history(self.people)
        self.redact_attempts()
        replies = find_replies(Pseudonyms(self.pseudonyms).has_id_in_reply, self.account_id)
        with part_transaction_on_sqlite():
            self.redact_texts_of_operators()
            self.redact_settings()
            erase_replies(self.account_id, replies)

    def redact_decisions(self) -> None:
        """Remove personal facts from their decisions. The archive follows with the months that have some."""
        decisions = AccessEvent.objects.filter(requester_id__in=self.numbers)
        for keys in read_keys(decisions):
            with part_transaction_on_sqlite():
                redact_facts(keys)
        with part_transaction_on_sqlite():
            recorded = decisions.datetimes("created", "month", tzinfo=UTC)
            counted = months_with_decisions(self.account_id, self.numbers)
            note_erasure(self.account_id, {month.date() for month in (*recorded, *counted)})

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
            locked.rules, locked.tests = map(self.former.replace_ids, former)
            if former == (locked.rules, locked.tests):  # another text is the same, such as an action
                continue
            locked.version = locked.version + 1
            locked.updated = timezone.now()
            locked.save(update_fields=["rules", "tests", "version", "updated"])
            save_revision(locked)
        revisions = PolicyRevision.objects.filter(policy__account_id=self.account_id)
        for revision in read_in_chunks(self.holding(revisions, "rules", "tests")):
            rules = revision.rules
            revision.rules = self.former.replace_ids(rules)
            revision.tests = self.former.replace_ids(revision.tests)
            revision.save(update_fields=["rules", "tests"])
            move_counts(revision.policy_id, rules, revision.rules)
        epochs.invalidate(self.account_id, epochs.EVERYTHING)

    def redact_attempts(self) -> None:
        """Clear what webhook endpoints replied to events about the customers."""
        for column in ("event__customer__in", "event__other_customer__in"):
            attempts = WebhookAttempt.objects.filter(**{column: self.numbers}).exclude(reply="")
            for keys in read_keys(attempts):
                with part_transaction_on_sqlite():
                    WebhookAttempt.objects.filter(pk__in=keys).update(reply="")

    def redact_texts_of_operators(self) -> None:
        """Replace the ids by pseudonyms in the history of policies and webhook endpoints."""
        entries = AuditEntry.objects.filter(account_id=self.account_id, resource_type__in=WRITTEN_BY_OPERATORS)
        for entry in read_in_chunks(self.holding(entries, "changes")):
            entry.changes = self.former.replace_ids(entry.changes)
            entry.save(update_fields=["changes"])
        events = Event.objects.filter(account_id=self.account_id, type__in=TYPES_BY_OPERATORS)
        for event in read_in_chunks(self.holding(events, "data", "previous")):
            previous = None if event.previous is None else self.replace_ids_in_text(event.previous)
            Event.objects.filter(pk=event.pk).update(data=self.replace_ids_in_text(event.data), previous=previous)
            WebhookAttempt.objects.filter(event=event).exclude(reply="").update(reply="")

    def replace_ids_in_text(self, text: str) -> str:
        return orjson.dumps(self.former.replace_ids(orjson.loads(text))).decode()

    def redact_settings(self) -> None:
        endpoints = WebhookEndpoint.objects.filter(account_id=self.account_id, access_filter__isnull=False)
        for endpoint in read_in_chunks(self.holding(endpoints, "access_filter")):
            endpoint.access_filter = self.former.replace_ids(endpoint.access_filter)
            endpoint.save(update_fields=["access_filter"])
        saved = SavedFilter.objects.values_list("pk", "query")
        searches = [pk for pk, query in saved if self.former.is_searched_by(query)]
        SavedFilter.objects.filter(pk__in=searches).delete()

    def holding(self, rows: QuerySet[Row], *fields: str) -> QuerySet[Row]:
        """Return the rows whose JSON contains a former id as a string in one of these fields."""
        if not self.former.by_id:
            return rows.none()
        texts = {f"text_of_{field}": Cast(field, TextField()) for field in fields}
        lookups = [(f"{text}__contains", spelling) for text in texts for spelling in self.former.spellings]
        return cast("QuerySet[Row]", rows.alias(**texts).filter(Q(*lookups, _connector=Q.OR)))


def redact_facts(keys: Sequence[object]) -> None:
    """Remove personal facts from decisions. Writes only those that have some."""
    redacted = []
    for key, facts in AccessEvent.objects.filter(pk__in=keys).values_list("pk", "facts"):
        kept = kept_by_erasure(facts)
        if kept != facts:
            redacted.append((orjson.dumps(kept).decode(), prepare(AccessEvent, "id", key)))
    if redacted:
        with connection.cursor() as cursor:
            # `bulk_update` takes several times as long.
            cursor.executemany("UPDATE analytics_accessevent SET facts = %s WHERE id = %s", redacted)


def read_keys(rows: QuerySet[Row]) -> Iterator[list[object]]:
    """Yield the keys of the rows to write at a time. Queries read `KEYS`, because each may read the whole table."""
    size = rows_at_a_time(MORE_ROWS, ROWS)
    ordered = rows.order_by("pk").values_list("pk", flat=True)
    remaining = ordered
    while keys := list(remaining[:KEYS]):
        for first in range(0, len(keys), size):
            yield keys[first : first + size]
        remaining = ordered.filter(pk__gt=keys[-1])


def read_in_chunks(rows: QuerySet[Row]) -> Iterator[Row]:
    """Return the rows in key order, reading `ROWS` at a time."""
    return chain.from_iterable(in_chunks(rows, ROWS))
