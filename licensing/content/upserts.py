"""Create and update many items at once (POST /v1/content/bulk); each row follows the rules of POST or PATCH.

The number of statements does not depend on the number of rows. Rows take effect in order: a later row may take an
externalId that an earlier row gave up.
"""

from collections.abc import Mapping, Sequence
from copy import copy

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.auditing import audit
from accounts.plans import epochs
from kit.http.errors import ValidationFailed
from kit.rest.bulk import NOTHING, Bulk, Kind, Outcome, Row
from kit.storage.postgresql.statistics import gather_first_statistics
from kit.values.faults import REQUIRED, FaultKind
from licensing.content.models import Content
from licensing.content.serializers import ContentSerializer
from licensing.content.services import (
    apply_content,
    epoch_names,
    external_id_taken,
    keep_policies,
    of_a_new_item,
    unknown_policy,
    write_items,
)
from licensing.content.url_key import url_names

ATTEMPTS = 5
KIND = Kind("cnt", "item")


def read_rows(bodies: Sequence[object]) -> list[Row]:
    serializer = ContentSerializer(partial=True)  # one for all rows: creating it costs more than a row
    return KIND.read(bodies, serializer, serializer)


def upsert(account_id: str, rows: Sequence[Row], earlier: Mapping[object, int] = NOTHING) -> list[Outcome[Content]]:
    """Create or update the rows in one transaction and return the outcome of each. `earlier` is that of `Bulk`.

    Retries if another request takes an externalId at the same time.
    """
    for attempt in range(ATTEMPTS):
        try:
            with transaction.atomic():
                return Upsert(account_id, rows, earlier).run()
        except IntegrityError:
            # Another request has taken one of the externalIds since the look-up: the retry will find that item.
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


class Upsert(Bulk[Content]):
    kind = KIND

    def __init__(self, account_id: str, rows: Sequence[Row], earlier: Mapping[object, int]) -> None:
        super().__init__(rows, earlier)
        self.account_id = account_id
        self.now = timezone.now()
        # Lock in the same order as the endpoints: items, policies, then rows that an insertion waits for.
        self.by_id: dict[str, Content] = {}
        self.by_external_id: dict[str, Content] = {}
        for item in self.lock_items():
            self.remember(item)
        self.policies = keep_policies(account_id, {row.fields.get("policy_id") for row in rows})
        self.created: list[Content] = []
        self.updated: list[Content] = []
        self.released: list[str] = []  # items that give up their externalId
        self.changes: list[audit.Change] = []
        self.ended: set[str] = set()  # epoch names to bump, see accounts.plans.epochs

    def lock_items(self) -> list[Content]:
        """Lock the account's items that rows name by id or externalId."""
        owned = Content.objects.of(self.account_id)
        by_id = owned.filter(pk__in={row.id for row in self.rows} - {None})
        by_external_id = owned.filter(external_id__in={row.fields.get("external_id") for row in self.rows} - {None})
        found = {*by_id.values_list("pk", flat=True), *by_external_id.values_list("pk", flat=True)}
        return list(owned.filter(pk__in=found).order_by("pk").select_for_update())

    def remember(self, item: Content) -> None:
        self.by_id[item.pk] = item
        if item.external_id is not None:
            self.by_external_id[item.external_id] = item

    def run(self) -> list[Outcome[Content]]:
        outcomes = self.outcomes()
        if self.changes:
            if self.released:
                Content.objects.filter(pk__in=self.released).update(external_id=None)
            # In a fixed order, so that two requests that insert the same items wait instead of deadlocking.
            write_items(sorted([*self.created, *self.updated], key=lambda item: item.external_id or ""))
            audit.record_all(self.changes)
            epochs.bump(self.account_id, self.ended)
            gather_first_statistics(Content, rows=len(self.created))
        return outcomes

    def act(self, row: Row) -> tuple[int, Content]:
        external_id = row.fields.get("external_id")
        holder = self.by_external_id.get(external_id) if external_id is not None else None
        item = holder
        if row.id is not None:
            item = self.named(row, self.by_id)
        elif item is not None:
            self.check_first(item, "externalId")
        if holder is not None and holder is not item:
            raise external_id_taken(str(external_id), holder.pk)
        policy_id = row.fields.get("policy_id")
        if policy_id is not None and policy_id not in self.policies:
            raise unknown_policy(policy_id)
        return (201, self.create(row.fields)) if item is None else (200, self.change(item, row.fields))

    def create(self, fields: dict[str, object]) -> Content:
        if "title" not in fields:
            raise ValidationFailed(REQUIRED, param="title", kind=FaultKind.MISSING)
        made = Content(account_id=self.account_id, created=self.now, updated=self.now)
        apply_content(made, of_a_new_item(fields))
        self.created.append(made)
        self.ended |= epoch_names(made, is_new=True)
        self.note("content.created", made, {})
        return made

    def change(self, item: Content, fields: dict[str, object]) -> Content:
        changed = copy(item)
        apply_content(changed, fields)
        if not self.note("content.updated", changed, item.audited()):
            return item
        changed.updated = self.now
        if item.external_id != changed.external_id and item.external_id is not None:
            del self.by_external_id[item.external_id]
            self.released.append(item.pk)
        self.updated.append(changed)
        self.ended |= epoch_names(changed, former=url_names(item))
        return changed

    def note(self, action: str, item: Content, before: dict[str, object]) -> bool:
        """Prepare the audit entry for the change. Returns False if nothing changed."""
        entry = audit.entry(action, item, before)
        if entry is not None:
            self.changes.append(entry)
            self.remember(item)
        return entry is not None
