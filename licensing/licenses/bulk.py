"""Issue and change many licences (POST /v1/licenses/bulk). Each row follows the rules of its POST or PATCH."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property

from django.db import transaction
from django.db.models import Sum

from accounts.bulk import AccountBulk, named_rows_filter
from accounts.plans import epochs
from accounts.plans.models import Account
from analytics.models import LedgerEntry
from kit.http.errors import ValidationFailed
from kit.rest.bulk import NOTHING, Row
from kit.rest.serializers import StrictSerializer
from kit.storage.postgresql.statistics import gather_first_statistics
from kit.storage.reading import stored_now
from kit.values.json_values import Validated
from licensing.licenses import services
from licensing.licenses.charges import build_ledger_entry, keep_books
from licensing.licenses.fees import schedule_fee, take_due_fees
from licensing.licenses.models import License
from licensing.licenses.serializers import LicenseSerializer
from licensing.licenses.services import SCOPE_ENTRIES, LicenseTotals, count_scope
from licensing.requesters.models import Requester
from licensing.requesters.services import create_missing, renew_all

MAX_SCOPE_ENTRIES = 100_000  # items, tags and policies in the licences a request changes; the reply contains them all
# Columns that a change writes.
WRITTEN = ["external_id", "metadata", "license_type", "content_ids", "tags", "policy_ids", "starts_at", "expires_at",
           "price_amount", "price_currency", "access_amount", "access_currency", "fee_amount", "fee_currency",
           "fee_every", "fee_zone", "fee_months", "next_fee_at", "updated"]  # fmt: skip


class OneByOne(AccountBulk[License]):
    """Write each row separately, like its endpoint does."""

    prefix = "lic"
    short_name = "licence"
    kind = "license"
    required = {"requester_id": "requesterId", "license_type": "licenseType"}
    conflict = staticmethod(services.external_id_conflict)

    @classmethod
    def serializers(cls) -> tuple[StrictSerializer, StrictSerializer]:
        return LicenseSerializer(), LicenseSerializer(partial=True)

    @classmethod
    def check(cls, account_id: str, rows: Sequence[Row]) -> None:
        """Raises ValidationFailed if the licences that the rows change name too many items, tags and policies."""
        changed = License.objects.filter(named_rows_filter(rows), account_id=account_id)
        if (changed.aggregate(entries=Sum(SCOPE_ENTRIES))["entries"] or 0) > MAX_SCOPE_ENTRIES:
            raise ValidationFailed(
                f"The licences that a request changes can name at most {MAX_SCOPE_ENTRIES:,} items, tags and policies "
                "together.",
                param="items",
            )

    def lock(self) -> Iterable[License]:
        epochs.lock_epoch(self.account_id)
        licenses = License.objects.filter(named_rows_filter(self.rows), account_id=self.account_id)
        return licenses.select_related("requester").order_by("pk").select_for_update(of=("self",))

    def create(self, fields: Validated) -> License:
        return services.issue_license(self.account_id, fields)

    def change(self, license_: License, fields: Validated) -> License:
        return services.update_license(license_, fields)


class Together(OneByOne):
    """Write all rows with a fixed number of statements."""

    @classmethod
    def write_rows(
        cls, account_id: str, rows: Sequence[Row], earlier: Mapping[object, int] = NOTHING
    ) -> AccountBulk[License]:
        try:
            with transaction.atomic():
                return Together(account_id, rows, earlier).run()
        except ValidationFailed:
            # On SQLite, daily totals are limited. Writing rows one by one finds those that exceed the limit.
            with transaction.atomic():
                return OneByOne(account_id, rows, earlier).run()

    def __init__(self, account_id: str, rows: Sequence[Row], earlier: Mapping[object, int]) -> None:
        super().__init__(account_id, rows, earlier)
        self.now = stored_now()
        for row, fields in zip(
            rows, services.with_current_requesters(account_id, [row.fields for row in rows]), strict=True
        ):
            row.fields = dict(fields)
        self.existing = services.existing_scope_ids(account_id, [row.fields for row in rows])
        requester_ids = {row.fields.get("requester_id") for row in rows} - {None}
        requesters = Requester.objects.filter(account_id=account_id, requester_id__in=requester_ids)
        self.requesters: dict[str, Requester] = {requester.requester_id: requester for requester in requesters}
        for license_ in self.by_id.values():  # share one object per requester
            requester = license_.requester
            license_.requester = self.requesters.setdefault(requester.requester_id, requester)
        totals = services.license_totals(self.requesters.values())
        self.totals = {
            requester.requester_id: totals.get(requester.pk, LicenseTotals()) for requester in self.requesters.values()
        }
        self.newly_named: set[str] = set()
        self.fees: list[LedgerEntry] = []  # that were due by the former terms

    @cached_property
    def account(self) -> Account:
        return Account.objects.get(pk=self.account_id)

    def create(self, new_fields: Validated) -> License:
        fields = dict(new_fields)
        requester_id = fields.pop("requester_id")
        requester_name = fields.pop("requester_name", None)
        issued = services.new_license(self.account_id, fields, self.existing, self.now)
        self.add_to_totals(requester_id, 1, count_scope(issued))
        requester = self.requesters.get(requester_id)
        if requester is None:
            requester = Requester(account_id=self.account_id, requester_id=requester_id)
            self.requesters[requester_id] = requester
        issued.requester = requester
        if issued.fee_amount is not None:
            issued.account = self.account
            schedule_fee(issued, None, self.now)
        self.name_unnamed(requester, requester_name)
        self.note(None, issued, {})
        return issued

    def change(self, license_: License, fields: Validated) -> License:
        changed = copy(license_)
        before = license_.audited()
        if changed.next_fee_at is not None or fields.get("fee_amount") is not None:
            changed.account = self.account
        fees = take_due_fees(changed, self.now)
        services.change_terms(changed, fields, self.existing, self.now)
        self.add_to_totals(license_.requester.requester_id, 0, count_scope(changed) - count_scope(license_))
        self.name_unnamed(license_.requester, fields.get("requester_name"))
        if not self.note(license_, changed, before):
            return license_
        changed.updated = self.now
        self.fees += fees
        return changed

    def name_unnamed(self, requester: Requester, name: str | None) -> None:
        if requester.name is None and name is not None:
            requester.name = name
            self.newly_named.add(requester.requester_id)

    def add_to_totals(self, requester_id: str, licenses: int, scope_entries: int) -> None:
        """Count licences and scope entries against the requester's limits. Raises ValidationFailed if exceeded."""
        former = self.totals.get(requester_id, LicenseTotals())
        totals = LicenseTotals(former.licenses + licenses, former.scope_entries + scope_entries)
        if licenses or scope_entries > 0:
            services.check_license_limits(totals)
        self.totals[requester_id] = totals

    def write(self, licenses: list[License]) -> None:
        """Raises ValidationFailed if the ledger cannot hold the prices."""
        self.write_requesters()
        fees = list(self.fees)
        for license_ in licenses:
            license_.requester = license_.requester  # sets requester_id, which new requesters have only now
            fees += take_due_fees(license_, self.now)
        License.objects.bulk_create(licenses, update_conflicts=True, unique_fields=["id"], update_fields=WRITTEN)
        prices = []
        for former, license_ in self.changed_resources:
            booked = None if former is None else build_ledger_entry(former)
            prices.append((booked, build_ledger_entry(license_)))
        keep_books(prices, fees)

    def epoch_names(self) -> set[str]:
        return {license_.requester.epoch_name for _, license_ in self.changed_resources}

    def gather_statistics(self) -> None:
        gather_first_statistics(License, Requester, rows=len(self.changed_resources))

    def write_requesters(self) -> None:
        requesters = {license_.requester.requester_id: license_.requester for _, license_ in self.changed_resources}
        new = {requester_id: requester for requester_id, requester in requesters.items() if requester.pk is None}
        if new:
            create_missing(self.account_id, {requester_id: requester.name for requester_id, requester in new.items()})
            for stored in Requester.objects.filter(account_id=self.account_id, requester_id__in=new):
                requester = new[stored.requester_id]
                requester.pk = stored.pk
                requester.name = stored.name or requester.name  # another request may have created it, with a name
                requester.created = stored.created
        newly_named = [requester for requester_id, requester in requesters.items() if requester_id in self.newly_named]
        renew_all(requesters.values(), newly_named)
