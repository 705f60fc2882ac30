"""Bulk creation and changes: each row succeeds or fails on its own, like a POST or PATCH of its own.

Rows take effect in order, in memory, and are written together; the number of statements does not depend on the number
of rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Generic, TypeVar

from django.db.models import Model
from drf_spectacular.utils import inline_serializer
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.response import Response

from kit.http.error_replies import as_api_error
from kit.http.errors import AlreadyExists, ApiError, ValidationFailed
from kit.http.parsing import RefusedRow
from kit.rest.fields import Choice
from kit.rest.resources import unknown
from kit.rest.serializers import StrictSerializer
from kit.values import ids
from kit.values.faults import FaultKind
from kit.values.json_values import Rendered, Validated
from kit.values.suggestions import shown

MAX_ROWS = 1_000
STATUSES = [200, 201, 409, 422]
ALONE = "As the row would be answered alone."

M = TypeVar("M", bound=Model)
NOTHING: Mapping[object, int] = MappingProxyType({})


class RowsField(serializers.ListField):
    """Rows as sent. A fault in one row becomes that row's outcome instead of failing the request."""

    def __init__(self, child: serializers.Serializer) -> None:
        super().__init__(child=child, min_length=1, max_length=MAX_ROWS)

    def to_internal_value(self, data: object) -> list[object]:
        if not isinstance(data, list):
            raise serializers.ValidationError(f"Must be an array of rows such as [{{…}}, {{…}}], not {shown(data)}.")
        if not 1 <= len(data) <= MAX_ROWS:
            raise serializers.ValidationError(f"Takes 1 to {MAX_ROWS:,} rows, not {len(data):,}.")
        return data


DOC_URL = "The documentation of the code; relative to the service's address if `BASE_URL` is not set."
KIND = "With `param`: a required field is `missing`, a field or parameter is `unknown`, or a value is `malformed`."


class FieldErrorShown(serializers.Serializer):
    """A fault of one field."""

    code = serializers.CharField(help_text="Machine-readable and stable.")
    message = serializers.CharField(help_text="For people: what is wrong.")
    param = serializers.CharField(required=False, help_text="The offending field.")
    kind = Choice(choices=[*FaultKind], required=False, help_text=KIND)


class ErrorShown(serializers.Serializer):
    """The error of one part of a request that succeeded as a whole."""

    code = serializers.CharField(help_text="Machine-readable and stable.")
    message = serializers.CharField(help_text="For people: what is wrong.")
    type = serializers.CharField(help_text="The kind of error.")
    docUrl = serializers.CharField(required=False, help_text=DOC_URL)
    param = serializers.CharField(required=False, help_text="The offending field.")
    kind = Choice(choices=[*FaultKind], required=False, help_text=KIND)
    retryAfter = serializers.IntegerField(required=False, help_text="Seconds to wait.")

    def get_fields(self) -> dict[str, serializers.Field]:
        """Add `errors`, which cannot be declared above: serializers have an attribute of that name."""
        help_text = "Where several fields are wrong: all of them, the first one among them."
        return {**super().get_fields(), "errors": FieldErrorShown(many=True, required=False, help_text=help_text)}


class IndexedSerializer(serializers.Serializer):
    index = serializers.IntegerField(min_value=0, help_text="Index of the row in `items`, from 0.")


def outcomes_serializer(name: str, outcome: serializers.Serializer) -> serializers.Serializer:
    """Build the serializer of a bulk reply; `outcome` has `many=True`."""
    return inline_serializer(
        name,
        {
            "object": Choice(choices=["list"]),
            "data": outcome,
            "hasMore": serializers.BooleanField(help_text="Always false."),
            "totalCount": serializers.IntegerField(min_value=1, help_text="Number of rows in the request."),
        },
    )


@dataclass(slots=True)
class Row:
    """A row: its fields by Python name, the id of the resource it changes, if any, and its index in the request."""

    fields: Validated = field(default_factory=dict)
    id: str | None = None
    error: ApiError | None = None  # why the row alone is invalid
    index: int = 0


@dataclass(slots=True)
class Outcome(Generic[M]):
    """The result of a row: 200 or 201 with the resource, otherwise an error."""

    status: int
    resource: M | None = None
    error: ApiError | None = None


class Bulk(Generic[M]):
    """One attempt at writing the rows, in a transaction.

    `earlier` has the resources that rows of earlier transactions of the request are about, with the rows' indexes.
    """

    prefix: ClassVar[str]  # of the resources' ids
    short_name: ClassVar[str]

    def __init__(self, rows: Sequence[Row], earlier: Mapping[object, int] = NOTHING) -> None:
        self.rows = rows
        self.row_of = dict(earlier)  # the row that created or changed a resource, by primary key

    @classmethod
    def serializers(cls) -> tuple[StrictSerializer, StrictSerializer]:
        """Return the serializers of a row that creates a resource, and of one that changes one."""
        raise NotImplementedError

    @classmethod
    def read(cls, bodies: Sequence[object]) -> list[Row]:
        """Read rows: those with `id` or `externalId` may change a resource."""
        new, partial = cls.serializers()  # for all rows: creating them costs more than a row
        rows = [cls.read_row(body, new, partial) for body in bodies]
        for index, row in enumerate(rows):
            row.index = index
        return rows

    @classmethod
    def read_row(cls, body: object, new: StrictSerializer, partial: StrictSerializer) -> Row:
        if isinstance(body, RefusedRow):
            return Row(error=body.error)
        named, external_id = (body.get("id"), body.get("externalId")) if isinstance(body, dict) else (None, None)
        try:
            fields = (new if named is None and external_id is None else partial).run_validation(body)
            if named is not None and ids.decode(cls.prefix, named) is None:
                raise cls.unknown(named)
        except (ApiError, ValidationError) as error:
            return Row(error=as_api_error(error))
        return Row(fields, named)

    @classmethod
    def unknown(cls, named: object) -> ValidationFailed:
        return ValidationFailed(unknown(cls.prefix, str(named)), param="id")

    def outcomes(self) -> list[Outcome[M]]:
        """Return the outcome of each row, in order. Changes memory only; nothing is written yet."""
        return [self.outcome(row) for row in self.rows]

    def outcome(self, row: Row) -> Outcome[M]:
        try:
            if row.error is not None:
                raise row.error
            status, resource = self.act(row)
        except ApiError as error:
            return Outcome(error.status_code, error=error)
        self.row_of[resource.pk] = row.index
        return Outcome(status, resource)

    def act(self, row: Row) -> tuple[int, M]:
        """Apply the row in memory. Raises ApiError, and then changes nothing."""
        raise NotImplementedError

    def named(self, row: Row, found: Mapping[str, M]) -> M:
        """Return the resource that the row changes.

        Raises ValidationFailed if there is none, and AlreadyExists if an earlier row changes it too.
        """
        resource = found.get(row.id or "")
        if resource is None:
            raise self.unknown(row.id)
        self.check_first(resource)
        return resource

    def check_first(self, resource: M, param: str = "id") -> None:
        if resource.pk in self.row_of:
            earlier = self.row_of[resource.pk]
            raise AlreadyExists(f"Row {earlier} is about the same {self.short_name}.", param=param)


def bulk_response(outcomes: Sequence[Outcome[M]], name: str, show: Callable[[M], object]) -> Response:
    """Build the reply; `name` is the field that holds the resource."""
    return Response(bulk_reply(shown_outcomes(outcomes, name, show)))


def shown_outcomes(
    outcomes: Sequence[Outcome[M]], name: str, show: Callable[[M], object], first: int = 0
) -> list[Rendered]:
    """Render the outcomes of the rows from index `first` on."""
    return [
        {
            "index": index,
            "status": outcome.status,
            name: show(outcome.resource) if outcome.resource else None,
            "error": outcome.error.as_dict() if outcome.error else None,
        }
        for index, outcome in enumerate(outcomes, first)
    ]


def bulk_reply(data: list[Rendered]) -> Rendered:
    return {"object": "list", "data": data, "hasMore": False, "totalCount": len(data)}
