"""The base of endpoints that also write many rows in one request (kit.rest.bulk).

PostgreSQL writes all rows in one transaction. SQLite lets nobody else write meanwhile, not even checks of other
accounts, so it commits a few rows at a time. An `Idempotency-Key` is then stored with the first part, and each part
adds its outcomes in its own transaction: a retry after a crash writes the remaining rows, and no row twice.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any, ClassVar, Self, cast

import orjson
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.auditing import audit
from accounts.plans import epochs
from accounts.retries.idempotency import is_partial
from accounts.retries.models import IdempotencyRecord
from accounts.viewsets import AccountViewSet
from kit.http.errors import ApiError, ValidationFailed
from kit.rest.bulk import NOTHING, Bulk, Outcome, Row, bulk_reply, shown_outcomes
from kit.rest.serializers import StrictSerializer
from kit.rest.views import Handler, M
from kit.storage.sqlite_turns import let_others_write, others_wait
from kit.values.faults import REQUIRED, FaultKind
from kit.values.json_values import Rendered, Validated

PART_ROWS = 25  # written in 30 to 100 ms
ATTEMPTS = 5


def named_rows_filter(rows: Sequence[Row]) -> Q:
    """Return the filter for the resources that rows name by id or externalId."""
    by_id = Q(pk__in={row.id for row in rows} - {None})
    return by_id | Q(external_id__in={row.fields.get("external_id") for row in rows} - {None})


class AccountBulk(Bulk[M]):
    """Each row changes the account's resource with its `id` or `externalId`, or else creates one.

    Rows take effect in order: a later row may take an externalId that an earlier one gave up. The number of statements
    does not depend on the number of rows.
    """

    kind: ClassVar[str]  # of the resource in the audit log
    required: ClassVar[Mapping[str, str]]  # fields of a new resource, with their names in the API

    def __init__(self, account_id: str, rows: Sequence[Row], earlier: Mapping[object, int] = NOTHING) -> None:
        super().__init__(rows, earlier)
        self.account_id = account_id
        self.now = timezone.now()
        self.by_id: dict[str, M] = {}
        self.by_external_id: dict[str, M] = {}
        for resource in self.lock():
            self.remember(resource)
        self.changed_resources: list[tuple[M | None, M]] = []  # before and after
        self.changes: list[audit.Change] = []
        self.results: list[Outcome[M]] = []

    @classmethod
    def check(cls, account_id: str, rows: Sequence[Row]) -> None:
        """Raises ValidationFailed if the request must be refused as a whole, before anything is written."""

    @classmethod
    def write_rows(
        cls, account_id: str, rows: Sequence[Row], earlier: Mapping[object, int] = NOTHING
    ) -> "AccountBulk[M]":
        """Write the rows in one transaction and return the attempt that did, with the outcome of each row.

        Retries if another request takes an externalId at the same time: the retry finds the resource that has it.
        """
        for _ in range(ATTEMPTS - 1):
            with suppress(IntegrityError), transaction.atomic():
                return cls(account_id, rows, earlier).run()
        with transaction.atomic():
            return cls(account_id, rows, earlier).run()

    def lock(self) -> Iterable[M]:
        """Lock the resources that rows name (`named_rows_filter`)."""
        raise NotImplementedError

    def remember(self, resource: M) -> None:
        """Let later rows find the resource as this row leaves it."""
        former = self.by_id.get(resource.pk)
        external_id = get_external_id(resource)
        if former is not None:
            self.by_external_id.pop(get_external_id(former) or "", None)
        self.by_id[resource.pk] = resource
        if external_id is not None:
            self.by_external_id[external_id] = resource

    def act(self, row: Row) -> tuple[int, M]:
        resource = self.find(row)
        self.check_row(row)
        if resource is not None:
            status = 200
            written = self.change(resource, row.fields)
        else:
            self.check_complete(row)
            status = 201
            written = self.create(row.fields)
        self.remember(written)
        return status, written

    def find(self, row: Row) -> M | None:
        """Return the resource that the row changes, or None if it creates one.

        Raises ValidationFailed and AlreadyExists like `named`, and `taken` for another resource's externalId.
        """
        external_id: str | None = row.fields.get("external_id")
        holder = None if external_id is None else self.by_external_id.get(external_id)
        resource = holder
        if row.id is not None:
            resource = self.named(row, self.by_id)
        elif resource is not None:
            self.check_first(resource, "externalId")
        if holder is not None and holder is not resource:
            raise self.conflict(str(external_id), holder.pk)
        return resource

    def conflict(self, external_id: str, holder: str) -> ApiError:
        """Return the error for an externalId that the resource `holder` has."""
        raise NotImplementedError

    def check_row(self, row: Row) -> None:
        """Raises ApiError if what the row names does not exist."""

    def check_complete(self, row: Row) -> None:
        """Raises ValidationFailed if a row for a new resource lacks required fields."""
        missing = [name for field, name in self.required.items() if field not in row.fields]
        if missing:
            faults: list[ApiError] = [
                ValidationFailed(REQUIRED, param=name, kind=FaultKind.MISSING) for name in missing
            ]
            faults[0].further = faults[1:]
            raise faults[0]

    def create(self, fields: Validated) -> M:
        raise NotImplementedError

    def change(self, resource: M, fields: Validated) -> M:
        raise NotImplementedError

    def note(self, former: M | None, changed: audit.AuditedModel, before: dict[str, object]) -> bool:
        """Keep the change, to be written with its audit entry; return False if nothing changes."""
        entry = audit.build_change(f"{self.kind}.{'updated' if former else 'created'}", changed, before)
        if entry is not None:
            self.changes.append(entry)
            self.changed_resources.append((former, cast("M", changed)))
        return entry is not None

    def run(self) -> Self:
        self.results = self.outcomes()
        if self.changed_resources:
            self.write_changes()
        return self

    def write_changes(self) -> None:
        self.release_external_ids()
        self.write([resource for _, resource in self.changed_resources])
        audit.record_all(self.changes)
        epochs.invalidate(self.account_id, self.epoch_names())
        self.gather_statistics()

    def release_external_ids(self) -> None:
        """Clear externalIds that resources give up, because another row may have claimed one."""
        released = [
            former.pk
            for former, resource in self.changed_resources
            if former and get_external_id(former) not in (None, get_external_id(resource))
        ]
        if released:
            type(self.changed_resources[0][1])._default_manager.filter(pk__in=released).update(external_id=None)

    def write(self, resources: list[M]) -> None:
        """Insert new resources and update changed ones, with what belongs to them."""
        raise NotImplementedError

    def epoch_names(self) -> set[str]:
        """Return what the changes invalidate (accounts.plans.epochs)."""
        raise NotImplementedError

    def gather_statistics(self) -> None:
        """Let PostgreSQL analyze a table that was empty before."""


def get_external_id(resource: Any) -> str | None:
    external_id: str | None = resource.external_id
    return external_id


class BulkViewSet(AccountViewSet[M]):
    """Resources with a `bulk` action, which returns `write_bulk()`."""

    bulk_class: ClassVar[type[AccountBulk[Any]]]
    bulk_serializer: ClassVar[type[StrictSerializer]]  # of the request
    bulk_name: ClassVar[str]  # of the resource in each outcome
    rows: Sequence[Row] | None = None  # if the request is committed in parts
    earlier_outcomes: list[Rendered]  # outcomes of earlier parts, as in the reply

    def read_rows(self) -> Sequence[Row]:
        """Read the rows of the body. Raises ValidationFailed."""
        return self.bulk_class.read(self.validated(self.bulk_serializer)["items"])

    def show_row(self, resource: M) -> object:
        return self.get_serializer().to_representation(resource)

    def write_bulk(self) -> Response:
        """Write the rows, or the next part of them, and return the reply."""
        if self.rows is None:
            rows = part = self.read_rows()
            outcomes_so_far = []
        else:
            rows = self.rows
            outcomes_so_far = self.earlier_outcomes
            part = rows[len(outcomes_so_far) :][:PART_ROWS]
        if not outcomes_so_far:
            self.bulk_class.check(self.account_id, rows)
        written = self.bulk_class.write_rows(
            self.account_id, part, index_written_resources(outcomes_so_far, self.bulk_name)
        )
        outcomes_so_far = [
            *outcomes_so_far,
            *shown_outcomes(written.results, self.bulk_name, self.show_row, first=len(outcomes_so_far)),
        ]
        return Response(
            bulk_reply(outcomes_so_far),
            HTTPStatus.OK if len(outcomes_so_far) == len(rows) else IdempotencyRecord.PARTIAL,
        )

    def write(self, handler: Handler, request: Request, *args: object, **kwargs: object) -> HttpResponse:
        if self.action != "bulk" or not others_wait():
            return super().write(handler, request, *args, **kwargs)
        try:
            self.rows = self.read_rows()
            self.earlier_outcomes = []
        except (ApiError, ValidationError):  # raised again in its turn, after the checks of the key
            return super().write(handler, request, *args, **kwargs)
        response = super().write(handler, request, *args, **kwargs)
        while isinstance(response, Response) and is_partial(response):
            let_others_write()
            self.earlier_outcomes = response.data["data"]
            response = super().write(handler, request, *args, **kwargs)
        return response

    def resume(self, reply: bytes) -> None:
        self.earlier_outcomes = orjson.loads(reply)["data"]


def index_written_resources(outcomes: Sequence[Rendered], name: str) -> dict[object, int]:
    """Return the ids of the resources that rows have written, with the rows' indexes."""
    with_resource = [outcome for outcome in outcomes if outcome[name] is not None]
    return {cast("Rendered", outcome[name])["id"]: cast("int", outcome["index"]) for outcome in with_resource}
