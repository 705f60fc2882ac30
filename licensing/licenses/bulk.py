"""Many licences issued and changed at once (POST /v1/licenses/bulk): each row by the rules of its POST or PATCH."""

from collections.abc import Sequence
from copy import copy

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from accounts.auditing import audit
from accounts.plans import epochs
from kit.http.errors import ValidationFailed
from kit.rest.bulk import Bulk, Kind, Outcome, Row
from licensing.licenses import services
from licensing.licenses.models import License
from licensing.licenses.serializers import LicenseSerializer
from licensing.licenses.services import NAMES, Fields, Room, booking, names_of
from licensing.requesters.models import Requester
from licensing.requesters.services import create_missing, renew_all

KIND = Kind("lic", "licence", "licence")
MAX_NAMES = 100_000  # of items, tags and policies in the licences that a request changes: it reads and tells them all
# What a change writes of a licence; the requester has a row of his own.
WRITTEN = ["license_type", "content_ids", "tags", "policy_ids", "starts_at", "expires_at", "price_amount",
           "price_currency", "access_amount", "access_currency", "updated"]  # fmt: skip


def read_rows(bodies: Sequence[object]) -> list[Row]:
    return KIND.read(bodies, LicenseSerializer(), LicenseSerializer(partial=True))


def write_licenses(account_id: str, rows: Sequence[Row]) -> list[Outcome[License]]:
    """The outcome of each row. All that they write is one transaction. Raises ValidationFailed for too many names."""
    check_names(account_id, rows)
    try:
        with transaction.atomic():
            return Together(account_id, rows).run()
    except ValidationFailed:
        # On SQLite the totals of a day have a bound, which some row is beyond: each shows for itself.
        with transaction.atomic():
            return OneByOne(account_id, rows).outcomes()


def check_names(account_id: str, rows: Sequence[Row]) -> None:
    changed = License.objects.filter(account_id=account_id, pk__in={row.id for row in rows} - {None})
    if (changed.aggregate(names=Sum(NAMES))["names"] or 0) > MAX_NAMES:
        raise ValidationFailed(
            f"The licences that a request changes can name at most {MAX_NAMES:,} items, tags and policies together.",
            param="items",
        )


class OneByOne(Bulk[License]):
    """Each row by itself, as its endpoint does it."""

    kind = KIND

    def __init__(self, account_id: str, rows: Sequence[Row]) -> None:
        super().__init__(rows)
        epochs.hold(account_id)
        self.account_id = account_id
        held = License.objects.filter(account_id=account_id, pk__in={row.id for row in rows} - {None})
        locked = held.select_related("requester").order_by("pk").select_for_update(of=("self",))
        self.held = {one.pk: one for one in locked}

    def act(self, row: Row) -> tuple[int, License]:
        if row.id is None:
            return 201, services.issue_license(self.account_id, row.fields)
        return 200, services.update_license(self.named(row, self.held), row.fields)


class Together(OneByOne):
    """The same by as many statements for a thousand rows as for one."""

    def __init__(self, account_id: str, rows: Sequence[Row]) -> None:
        super().__init__(account_id, rows)
        self.now = timezone.now()
        self.owned = services.owned_ids(account_id, [row.fields for row in rows])
        named = {row.fields.get("requester_id") for row in rows} - {None}
        owned = Requester.objects.filter(account_id=account_id, requester_id__in=named)
        known = {one.requester_id: one for one in owned}
        for one in self.held.values():  # one object for each requester, whoever names him
            one.requester = known.setdefault(one.requester.requester_id, one.requester)
        taken = services.rooms(known.values())
        self.requesters: dict[str, Requester] = known
        self.rooms = {one.requester_id: taken.get(one.pk, Room()) for one in known.values()}
        self.renamed: set[str] = set()
        self.changes: list[audit.Change] = []
        self.written: list[tuple[License | None, License]] = []  # each as it was and as it will be

    def act(self, row: Row) -> tuple[int, License]:
        if row.id is None:
            return 201, self.issue(row.fields)
        return 200, self.change(self.named(row, self.held), row.fields)

    def issue(self, given: Fields) -> License:
        fields = dict(given)
        requester_id, name = fields.pop("requester_id"), fields.pop("requester_name", None)
        issued = services.new_license(self.account_id, fields, self.owned, self.now)
        self.take_room(requester_id, 1, names_of(issued))
        requester = self.requesters.get(requester_id)
        if requester is None:
            requester = Requester(account_id=self.account_id, requester_id=requester_id)
            self.requesters[requester_id] = requester
        issued.requester = requester
        if name is not None:
            self.rename(requester, name)
        self.note("license.created", None, issued, {})
        return issued

    def change(self, held: License, fields: Fields) -> License:
        changed, before = copy(held), held.audited()
        services.change_terms(changed, fields, self.owned)
        self.take_room(held.requester.requester_id, 0, names_of(changed) - names_of(held))
        if "requester_name" in fields:
            self.rename(held.requester, fields["requester_name"])
        return changed if self.note("license.updated", held, changed, before) else held

    def rename(self, requester: Requester, name: str | None) -> None:
        if requester.name != name:
            requester.name = name
            self.renamed.add(requester.requester_id)

    def take_room(self, requester_id: str, licenses: int, names: int) -> None:
        """Raises ValidationFailed where there is none."""
        room = self.rooms.get(requester_id, Room())
        taken = Room(room.licenses + licenses, room.names + names)
        if licenses or names > 0:
            services.check_room(taken)
        self.rooms[requester_id] = taken

    def note(self, action: str, held: License | None, written: License, before: dict[str, object]) -> bool:
        """Notes the change for the audit log; False if nothing changes."""
        entry = audit.entry(action, written, before)
        if entry is not None:
            written.updated = self.now
            self.changes.append(entry)
            self.written.append((held, written))
        return entry is not None

    def run(self) -> list[Outcome[License]]:
        """Raises ValidationFailed where the ledger cannot hold all that the rows are to book."""
        outcomes = self.outcomes()
        if self.written:
            self.write_requesters()
            licenses = [one for _, one in self.written]
            for one in licenses:
                one.requester = one.requester  # whose key a new one has only now
            License.objects.bulk_create(licenses, update_conflicts=True, unique_fields=["id"], update_fields=WRITTEN)
            audit.record_all(self.changes)
            services.keep_books((None if held is None else booking(held), booking(one)) for held, one in self.written)
            epochs.bump(self.account_id, {one.requester.epoch_name for one in licenses})
        return outcomes

    def write_requesters(self) -> None:
        of_written = {one.requester.requester_id: one.requester for _, one in self.written}
        new = {requester_id: one for requester_id, one in of_written.items() if one.pk is None}
        if new:
            create_missing(self.account_id, {requester_id: one.name for requester_id, one in new.items()})
            found = Requester.objects.filter(account_id=self.account_id, requester_id__in=new)
            for stored in found:
                made = new[stored.requester_id]
                # Somebody else may have created him meanwhile, with a name.
                made.pk, made.name, made.created = stored.pk, made.name or stored.name, stored.created
        renew_all(of_written.values(), [one for one in of_written.values() if one.requester_id in self.renamed])
