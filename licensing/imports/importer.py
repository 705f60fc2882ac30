"""Imports content from files under the same rules as the API (docs/guides/importing.md).

The file is read twice: a survey first, then batches that are validated and written like the rows of
POST /v1/content/bulk, one transaction each. An interrupted run leaves whole batches; running it again does the rest.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from django.db import reset_queries, transaction
from django.utils import timezone
from rest_framework.exceptions import ValidationError

from accounts.events import recording
from kit.http.errors import ApiError, InvalidRequest, ValidationFailed
from kit.http.field_errors import first_error
from kit.http.parsing import check_values, message_for
from kit.rest.bulk import Row
from kit.values import ids
from kit.values.json_values import JsonObject
from kit.values.numbers import count_text, share_without
from kit.values.timestamps import render_timestamp
from kit.values.urls import host_of_url
from licensing.content.bulk import ContentBulk
from licensing.content.models import Content
from licensing.content.serializers import ContentSerializer
from licensing.content.services import linked_policy
from licensing.imports.dates import DateOrder, Order
from licensing.imports.files import RowFile
from licensing.imports.mapping import DATE, ColumnMapping, is_target, parse_text
from licensing.imports.rows import ImportRow
from licensing.imports.survey import survey_file
from licensing.policies.modes import Mode
from licensing.sites.models import Site

BATCH_ROWS = 1_000
CLOSED = (
    "{}, such as {}, without a policy at sites that enforce: an item decides before the site's patterns, so everybody "
    "is refused there, search engines too. Give the rows a policyId, or leave out what the patterns are to decide."
)


@dataclass(slots=True)
class ImportTotals:
    """Numbers of rows by outcome; each row is counted once."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0
    superseded: int = 0  # by a later row with the same externalId
    failed: int = 0

    @property
    def rows(self) -> int:
        return sum(asdict(self).values())

    @property
    def understood_percent(self) -> float:
        """The share of rows that are valid."""
        return share_without(self.failed, self.rows)


@dataclass(slots=True)
class ImportEntry:
    """A row's fields to set, or the reason why it was rejected."""

    line: int
    fields: dict[str, Any] = field(default_factory=dict)
    problem: str | None = None


class RehearsedBulk(ContentBulk):
    """A batch of a dry run."""

    def write_changes(self) -> None:
        """Write nothing."""


class Import:
    """An import of one file into an account. Without `columns`, columns have the names of API fields.

    The constructor reads the file once. Raises ApiError or ValidationError if the import cannot start, for example
    because of an unknown column.
    """

    def __init__(
        self,
        account_id: str,
        file: RowFile,
        columns: dict[str, str] | None,
        defaults: dict[str, str],
        *,
        allow_duplicates: bool = False,
        dry_run: bool = False,
        dates: Order | None = None,
    ) -> None:
        self.account_id = account_id
        self.file = file
        self.allow_duplicates = allow_duplicates
        self.dry_run = dry_run
        self.bulk_class: type[ContentBulk] = RehearsedBulk if dry_run else ContentBulk
        self.tally = ImportTotals()
        self.closed = 0  # items whose pages nobody may read
        self.first_closed: str | None = None
        self.serializer = ContentSerializer(partial=True)  # one for all rows: creating it costs more than a row
        self.id_column = "externalId" if columns is None else columns.get("externalId")
        date_column = DATE if columns is None else columns.get(DATE)
        order = DateOrder(dates)
        self.survey = survey_file(file, self.id_column, date_column, order)
        if columns is None:
            columns = {name: name for name in sorted(self.survey.columns) if is_target(name)}
        self.ignored = [name for name in self.survey.columns if name not in columns.values()]
        self.check_columns(columns)
        if "externalId" in defaults:  # two items without one would share it
            raise InvalidRequest("externalId takes no default: it names a single item.")
        values = {target: parse_text(target, text) for target, text in defaults.items()}
        self.mapping = ColumnMapping(dict(sorted(columns.items())), values, file.is_csv, order)
        with transaction.atomic():
            linked_policy(account_id, self.validated(self.mapping.body({})).get("policy_id"))

    def check_columns(self, columns: dict[str, str]) -> None:
        if not self.survey.rows:
            return
        header = self.file.header()
        for column in columns.values():
            if column not in self.survey.columns:
                column_names = ", ".join(islice(filter(None, self.survey.columns), 30))
                raise InvalidRequest(f"The file has no column {column!r}. It has: {column_names}.")
            if header.count(column) > 1:
                raise InvalidRequest(f"The file has the column {column!r} more than once.")
        if "externalId" not in columns and not self.allow_duplicates:
            raise InvalidRequest(
                "No column gives the externalId, so importing the file again would create all items again. "
                "Name one with --map externalId=COLUMN, or say --allow-duplicates."
            )

    # --- Row by row ----------------------------------------------------------------------------------------

    def validated(self, body: JsonObject) -> dict[str, Any]:
        check_values(body, "", 0)
        return self.serializer.run_validation(body)

    def entry(self, row: ImportRow) -> ImportEntry:
        if row.problem is not None:
            return ImportEntry(row.line, problem=row.problem)
        try:
            fields = self.validated(self.mapping.body(row.values))
            if fields.get("external_id") is None and not self.allow_duplicates:
                raise ValidationFailed("Is needed, to know the item again.", param="externalId")
        except (ApiError, ValidationError) as error:
            return ImportEntry(row.line, problem=rejection_reason(error))
        return ImportEntry(row.line, fields)

    def entries(self) -> Iterator[ImportEntry]:
        for row in self.file.rows():
            if self.survey.is_superseded(row, self.id_column):
                self.tally.superseded += 1
            else:
                yield self.entry(row)

    def run(self, report: Callable[[int, str], None], progress: Callable[[ImportTotals], None]) -> ImportTotals:
        """Import the file and return the totals. `report` gets the line and the reason of each rejected row."""
        started = timezone.now()
        entries = self.entries()
        while batch := list(islice(entries, BATCH_ROWS)):
            self.load(batch)
            for entry in batch:
                if entry.problem is not None:
                    self.tally.failed += 1
                    report(entry.line, entry.problem)
            progress(self.tally)
            reset_queries()  # otherwise DEBUG would keep all statements
        if not self.dry_run:
            self.write_finished_event(started)
        return self.tally

    @transaction.atomic
    def write_finished_event(self, started: datetime) -> None:
        import_id = ids.new_id("imp")
        body = {
            "id": import_id,
            "object": "content_import",
            **asdict(self.tally),
            "rows": self.tally.rows,
            "started": render_timestamp(started),
            "finished": render_timestamp(timezone.now()),
        }
        recording.write_events([recording.build(self.account_id, "import.finished", import_id, body)])

    @cached_property
    def enforcing_hosts(self) -> set[str]:
        sites = Site.objects.filter(account_id=self.account_id, mode=Mode.ENFORCE).prefetch_related("aliases")
        return {host for site in sites for host in site.hosts}

    def is_closed(self, item: Content) -> bool:
        """Whether nobody may read the item's page: it has no policy, and its site enforces."""
        if item.policy_id is not None or item.source is None or not self.enforcing_hosts:
            return False
        return host_of_url(urlsplit(item.source)) in self.enforcing_hosts

    @property
    def notes(self) -> list[str]:
        """Remarks about the import, for the operator."""
        if not self.closed:
            return []
        return [CLOSED.format(count_text(self.closed, "item"), self.first_closed)]

    # --- Batch by batch ------------------------------------------------------------------------------------

    def load(self, batch: list[ImportEntry]) -> None:
        """Write a batch, and set `problem` of rejected entries."""
        entries = [entry for entry in batch if entry.problem is None]
        rows = [Row(entry.fields, index=index) for index, entry in enumerate(entries)]
        written = self.bulk_class.write_rows(self.account_id, rows)
        failures = 0
        for entry, outcome in zip(entries, written.results, strict=True):
            if outcome.error is not None:
                entry.problem = rejection_reason(outcome.error)
                failures += 1
        for _, item in written.changed_resources:
            if self.is_closed(item):
                self.closed += 1
                self.first_closed = self.first_closed or item.source
        created = sum(former is None for former, _ in written.changed_resources)
        updated = len(written.changed_resources) - created
        self.tally.created += created
        self.tally.updated += updated
        self.tally.unchanged += len(entries) - failures - created - updated


def rejection_reason(error: ApiError | ValidationError) -> str:
    if isinstance(error, ApiError):
        param = error.param
        message = message_for("The row", error)
    else:
        param, message = first_error(error.detail)
    return f"{param}: {message}" if param else message
