"""The base of endpoints that also write many rows in one request (kit.rest.bulk).

PostgreSQL writes all rows in one transaction. SQLite lets nobody else write meanwhile, not even checks of other
accounts, so it commits a few rows at a time. An `Idempotency-Key` is then stored with the first part, and each part
adds its outcomes in its own transaction: a retry after a crash writes the remaining rows, and no row twice.
"""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import ClassVar, cast

import orjson
from django.db import connection
from django.http import HttpResponse
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.viewsets import AccountViewSet
from kit.http.errors import ApiError
from kit.rest.bulk import Outcome, Row, bulk_reply, shown_outcomes
from kit.rest.views import Handler, M
from kit.storage.sqlite_turns import let_others_write
from kit.values.json_values import Rendered

PART_ROWS = 25  # written in 30 to 100 ms


class BulkViewSet(AccountViewSet[M]):
    """Resources with a `bulk` action, which returns `write_bulk()`."""

    bulk_name: ClassVar[str]  # of the resource in each outcome
    rows: Sequence[Row] | None = None  # if the request is committed in parts
    done: list[Rendered]  # outcomes of earlier parts, as in the reply

    def read_rows(self) -> Sequence[Row]:
        """Read the rows of the body. Raises ValidationFailed."""
        raise NotImplementedError

    def check_rows(self, rows: Sequence[Row]) -> None:
        """Raises ValidationFailed if the request must be refused as a whole, before anything is written."""

    def write_rows(self, rows: Sequence[Row], earlier: Mapping[object, int]) -> Sequence[Outcome[M]]:
        """Write the rows. `earlier` has the resources of earlier parts, and the indexes of their rows."""
        raise NotImplementedError

    def show_row(self, resource: M) -> object:
        return self.get_serializer().to_representation(resource)

    def write_bulk(self) -> Response:
        """Write the rows, or the next part of them, and return the reply."""
        is_parted = self.rows is not None
        rows, done = (self.rows or [], self.done) if is_parted else (self.read_rows(), [])
        if not done:
            self.check_rows(rows)
        part = rows[len(done) :][: PART_ROWS if is_parted else None]
        outcomes = self.write_rows(part, resources_of(done, self.bulk_name))
        done = [*done, *shown_outcomes(outcomes, self.bulk_name, self.show_row, first=len(done))]
        return Response(bulk_reply(done), HTTPStatus.OK if len(done) == len(rows) else HTTPStatus.PROCESSING)

    def write(self, handler: Handler, request: Request, *args: object, **kwargs: object) -> HttpResponse:
        if self.action != "bulk" or connection.vendor != "sqlite":
            return super().write(handler, request, *args, **kwargs)
        try:
            self.rows, self.done = self.read_rows(), []
        except (ApiError, ValidationError):  # raised again in its turn, after the checks of the key
            return super().write(handler, request, *args, **kwargs)
        response = super().write(handler, request, *args, **kwargs)
        while isinstance(response, Response) and response.status_code == HTTPStatus.PROCESSING:
            let_others_write()
            self.done = response.data["data"]
            response = super().write(handler, request, *args, **kwargs)
        return response

    def resume(self, reply: bytes) -> None:
        self.done = orjson.loads(reply)["data"]


def resources_of(done: Sequence[Rendered], name: str) -> dict[object, int]:
    """Return the ids of the resources that rows have written, with the rows' indexes."""
    written = [outcome for outcome in done if outcome[name] is not None]
    return {cast("Rendered", outcome[name])["id"]: cast("int", outcome["index"]) for outcome in written}
