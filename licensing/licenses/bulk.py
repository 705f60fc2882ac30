"""Issue and change many licences (POST /v1/licenses/bulk). Each row follows the rules of its POST or PATCH."""

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property

from django.db import transaction
from django.db.models import QuerySet, Sum

from accounts.auditing import audit
from accounts.plans import epochs
from accounts.plans.models import Account
from analytics.models import LedgerEntry
from kit.http.errors import ValidationFailed
from kit.rest.bulk import NOTHING, BulkByExternalId, Kind, Outcome, Row, named_by
from kit.storage.postgresql.statistics import gather_first_statistics
from kit.storage.reading import stored_now
from kit.values.faults import REQUIRED as THIS_IS_REQUIRED
from kit.values.faults import FaultKind
from licensing.licenses import services
from licensing.licenses.charges import build_ledger_entry, keep_books
from licensing.licenses.fees import schedule_fee, take_due_fees
from licensing.licenses.models import License
from licensing.licenses.serializers import LicenseSerializer
from licensing.licenses.services import NAMES, Fields, Room, count_scope
from licensing.requesters.models import Requester
from licensing.requesters.services import create_missing, renew_all

KIND = Kind("lic", "licence")
MAX_NAMES = 100_000  # items, tags and policies in the licences a request changes; the reply contains them all
REQUIRED = {"requester_id": "requesterId", "license_type": "licenseType"}
# Columns that a change writes.
WRITTEN = ["external_id", "metadata", "license_type", "content_ids", "tags", "policy_ids", "starts_at", "expires_at",
           "price_amount", "price_currency", "access_amount", "access_currency", "fee_amount", "fee_currency",
           "fee_every", "fee_zone", "fee_months", "next_fee_at", "updated"]  # fmt: skip


def read_rows(bodies: Sequence[object]) -> list[Row]:
    return KIND.read(bodies, LicenseSerializer(), LicenseSerializer(partial=True))


def write_licenses(
    account_id: str, rows: Sequence[Row], earlier: Mapping[object, int] = NOTHING
) -> list[Outcome[License]]:
    """Write the rows in one transaction; return the outcome of each. `earlier` is that of `Bulk`."""
    try:
        with transaction.atomic():
            return Together(account_id, rows, earlier).run()
    except ValidationFailed:
        # On SQLite, daily totals are limited. Writing rows one by one finds those that exceed the limit.
        with transaction.atomic():
            return OneByOne(account_id, rows, earlier).outcomes()


def check_complete(fields: Fields) -> None:
    """Raises ValidationFailed if a row for a new licence lacks a required field."""
    missing = [name for column, name in REQUIRED.items() if column not in fields]
    if missing:
        first, *further = (ValidationFailed(THIS_IS_REQUIRED, param=name, kind=FaultKind.MISSING) for name in missing)
        first.further = [*further]
        raise first


def check_names(account_id: str, rows: Sequence[Row]) -> None:
    """Raises ValidationFailed if the licences that the rows change name too many items, tags and policies."""
    changed = named_licenses(account_id, rows)
    if (changed.aggregate(names=Sum(NAMES))["names"] or 0) > MAX_NAMES:
        raise ValidationFailed(
            f"The licences that a request changes can name at most {MAX_NAMES:,} items, tags and policies together.",
            param="items",
        )


def named_licenses(account_id: str, rows: Sequence[Row]) -> QuerySet[License]:
    """Return the account's licences that rows name by id or externalId."""
    return License.objects.filter(named_by(rows), account_id=account_id)


class OneByOne(BulkByExternalId[License]):
    """Write each row separately, like its endpoint does."""

    kind = KIND
    taken = staticmethod(services.external_id_taken)

    def __init__(self, account_id: str, rows: Sequence[Row], earlier: Mapping[object, int]) -> None:
        epochs.hold(account_id)
        held = named_licenses(account_id, rows).select_related("requester").order_by("pk")
        super().__init__(rows, held.select_for_update(of=("self",)), earlier)
        self.account_id = account_id

    def act(self, row: Row) -> tuple[int, License]:
        held = self.found(row)
        if held is None:
            check_complete(row.fields)
        status, written = (201, self.issue(row.fields)) if held is None else (200, self.change(held, row.fields))
        self.remember(written)
        return status, written

    def issue(self, given: Fields) -> License:
        return services.issue_license(self.account_id, given)

    def change(self, held: License, fields: Fields) -> License:
        return services.update_license(held, fields)


class Together(OneByOne):
    """Write all rows with a fixed number of statements."""

    def __init__(self, account_id: str, rows: Sequence[Row], earlier: Mapping[object, int]) -> None:
        super().__init__(account_id, rows, earlier)
        self.now = stored_now()
        for row, fields in zip(
            rows, services.with_current_requesters(account_id, [row.fields for row in rows]), strict=True
        ):
            row.fields = dict(fields)
        self.owned = services.owned_ids(account_id, [row.fields for row in rows])
        named = {row.fields.get("requester_id") for row in rows} - {None}
        owned = Requester.objects.filter(account_id=account_id, requester_id__in=named)
        known = {one.requester_id: one for one in owned}
        for one in self.by_id.values():  # share one object per requester
            one.requester = known.setdefault(one.requester.requester_id, one.requester)
        taken = services.rooms(known.values())
        self.requesters: dict[str, Requester] = known
        self.rooms = {one.requester_id: taken.get(one.pk, Room()) for one in known.values()}
        self.newly_named: set[str] = set()
        self.changes: list[audit.Change] = []
        self.written: list[tuple[License | None, License]] = []  # (before, after)
        self.fees: list[LedgerEntry] = []  # that were due by the former terms

    @cached_property
    def account(self) -> Account:
        return Account.objects.get(pk=self.account_id)

    def issue(self, given: Fields) -> License:
        fields = dict(given)
        requester_id, name = fields.pop("requester_id"), fields.pop("requester_name", None)
        issued = services.new_license(self.account_id, fields, self.owned, self.now)
        self.take_room(requester_id, 1, count_scope(issued))
        requester = self.requesters.get(requester_id)
        if requester is None:
            requester = Requester(account_id=self.account_id, requester_id=requester_id)
            self.requesters[requester_id] = requester
        issued.requester = requester
        if issued.fee_amount is not None:
            issued.account = self.account
            schedule_fee(issued, None, self.now)
        self.name_unnamed(requester, name)
        self.note("license.created", None, issued, {})
        return issued

    def change(self, held: License, fields: Fields) -> License:
        changed, before = copy(held), held.audited()
        if changed.next_fee_at is not None or fields.get("fee_amount") is not None:
            changed.account = self.account
        fees = take_due_fees(changed, self.now)
        services.change_terms(changed, fields, self.owned, self.now)
        self.take_room(held.requester.requester_id, 0, count_scope(changed) - count_scope(held))
        self.name_unnamed(held.requester, fields.get("requester_name"))
        if not self.note("license.updated", held, changed, before):
            return held
        self.fees += fees
        return changed

    def name_unnamed(self, requester: Requester, name: str | None) -> None:
        if requester.name is None and name is not None:
            requester.name = name
            self.newly_named.add(requester.requester_id)

    def take_room(self, requester_id: str, licenses: int, names: int) -> None:
        """Count licences and scope names against the requester's limits. Raises ValidationFailed if exceeded."""
        room = self.rooms.get(requester_id, Room())
        taken = Room(room.licenses + licenses, room.names + names)
        if licenses or names > 0:
            services.check_room(taken)
        self.rooms[requester_id] = taken

    def note(self, action: str, held: License | None, written: License, before: dict[str, object]) -> bool:
        """Add the change to the audit log; return False if nothing changes."""
        entry = audit.entry(action, written, before)
        if entry is not None:
            written.updated = self.now
            self.changes.append(entry)
            self.written.append((held, written))
        return entry is not None

    def run(self) -> list[Outcome[License]]:
        """Write the rows. Raises ValidationFailed if the ledger cannot hold the prices."""
        outcomes = self.outcomes()
        if self.written:
            self.write_requesters()
            licenses = [one for _, one in self.written]
            self.release_external_ids()
            for one in licenses:
                one.requester = one.requester  # sets requester_id, which new requesters have only now
            fees = [*self.fees, *(fee for one in licenses for fee in take_due_fees(one, self.now))]
            License.objects.bulk_create(licenses, update_conflicts=True, unique_fields=["id"], update_fields=WRITTEN)
            audit.record_all(self.changes)
            prices = [
                (None if held is None else build_ledger_entry(held), build_ledger_entry(one))
                for held, one in self.written
            ]
            keep_books(prices, fees)
            epochs.bump(self.account_id, {one.requester.epoch_name for one in licenses})
            gather_first_statistics(License, Requester, rows=len(licenses))
        return outcomes

    def release_external_ids(self) -> None:
        """Clear externalIds that licences give up, because another row may have claimed one."""
        given_up = [
            held.pk for held, one in self.written if held and held.external_id and held.external_id != one.external_id
        ]
        if given_up:
            License.objects.filter(pk__in=given_up).update(external_id=None)

    def write_requesters(self) -> None:
        of_written = {one.requester.requester_id: one.requester for _, one in self.written}
        new = {requester_id: one for requester_id, one in of_written.items() if one.pk is None}
        if new:
            create_missing(self.account_id, {requester_id: one.name for requester_id, one in new.items()})
            found = Requester.objects.filter(account_id=self.account_id, requester_id__in=new)
            for stored in found:
                made = new[stored.requester_id]
                # Another request may have created the requester meanwhile, with a name.
                made.pk, made.name, made.created = stored.pk, stored.name or made.name, stored.created
        renew_all(of_written.values(), [one for one in of_written.values() if one.requester_id in self.newly_named])
