"""Lists: newest first or as `sort` says, walked by a signed keyset cursor (docs/api-guide.md, Lists and filters).

A page starts where the last one ended, by value: `(created, id) < (…)`. So no row is skipped or repeated while others
are inserted, and page 1,000 costs what page 1 does.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from hashlib import sha256
from typing import Any, ClassVar, TypeVar

import orjson
from django.conf import settings
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import AutoField, F, Model, QuerySet
from django.db.models.fields.tuple_lookups import Tuple, TupleGreaterThan, TupleLessThan
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.http.errors import InvalidRequest
from kit.http.rendering import render_json
from kit.storage.code_points import by_code_point
from kit.values import ids
from kit.values.timestamps import EPOCH, MICROSECOND

SIGNATURE_BYTES = 16
ID_BYTES = 16
MAX_LIMIT = 100
MAX_PAGE = 1024 * 1024  # bytes of its rows as JSON; a row that is larger makes a page by itself
READ_FIRST = 20  # rows: the default limit
M = TypeVar("M", bound=Model)


def sign(scope: str, payload: bytes) -> bytes:
    key = sha256(b"cursor:" + settings.SECRET_KEY.encode()).digest()
    return hmac.digest(key, len(scope).to_bytes(4) + scope.encode() + payload, "sha256")[:SIGNATURE_BYTES]


def as_text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


class Moments:
    """A column of timestamps to sort by."""

    column = staticmethod(F)

    @staticmethod
    def encode(value: datetime) -> bytes:
        return ((value - EPOCH) // MICROSECOND).to_bytes(8, signed=True)

    @staticmethod
    def decode(raw: bytes) -> datetime:
        return EPOCH + int.from_bytes(raw, signed=True) * MICROSECOND


class Days:
    """A column of dates to sort by."""

    column = staticmethod(F)

    @staticmethod
    def encode(value: date) -> bytes:
        return value.toordinal().to_bytes(4)

    @staticmethod
    def decode(raw: bytes) -> date:
        return date.fromordinal(int.from_bytes(raw))


class TextsInOrder:
    """A column of text to sort by, in the order of code points."""

    column = staticmethod(by_code_point)
    encode = staticmethod(str.encode)
    decode = staticmethod(bytes.decode)


@dataclass(frozen=True)
class Order:
    """What a list is sorted by: a column that is never null, then the id, both in one direction.

    An index of both in either direction serves it.
    """

    field: str
    kind: type[Moments] | type[Days] | type[TextsInOrder] = Moments
    descending: bool = True

    def sorted(self, queryset: QuerySet[M]) -> QuerySet[M]:
        keys = (self.kind.column(self.field), F("id"))
        return queryset.order_by(*(key.desc() if self.descending else key.asc() for key in keys))

    def after(self, queryset: QuerySet[M], value: object, key: str | int) -> QuerySet[M]:
        """The rows behind the one with that value and id."""
        is_behind = TupleLessThan if self.descending else TupleGreaterThan
        return queryset.filter(is_behind(Tuple(self.kind.column(self.field), F("id")), (value, key)))

    def after_row(self, queryset: QuerySet[M], row: M) -> QuerySet[M]:
        return self.after(queryset, getattr(row, self.field), row.pk)


def encode_cursor(scope: str, value: bytes, raw_id: bytes) -> str:
    payload = value + raw_id
    return as_text(payload + sign(scope, payload))


def decode_cursor(scope: str, text: str) -> tuple[bytes, bytes]:
    """The value and the id of the row it points behind.

    Raises InvalidRequest for everything but a cursor that was made for this scope.
    """
    try:
        raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except ValueError:
        raw = b""
    if as_text(raw) != text:  # the decoder skips what is no digit, and the last digit's spare bits
        raw = b""
    payload, signature = raw[:-SIGNATURE_BYTES], raw[-SIGNATURE_BYTES:]
    if not hmac.compare_digest(sign(scope, payload), signature):
        raise InvalidRequest(
            "This is not a cursor of this list. Use nextCursor as it came, with the same filters and sort.",
            param="cursor",
        )
    return payload[:-ID_BYTES], payload[-ID_BYTES:]


def encode_key(row: Model) -> bytes:
    """The row's primary key in 16 bytes: an id's UUID, or a number."""
    if isinstance(row.pk, int):
        return row.pk.to_bytes(ID_BYTES)
    return ids.decode(ids.prefix_of(type(row)), row.pk) or b""


def decode_key(model: type[Model], raw: bytes) -> str | int:
    """The primary key that encode_key has encoded."""
    return int.from_bytes(raw) if isinstance(model._meta.pk, AutoField) else ids.encode(ids.prefix_of(model), raw)


def count(queryset: Any) -> int:
    """How many rows there are. The ORM's own takes three times as long to say so in SQL; it runs as this does."""
    try:
        sql, parameters = queryset.order_by().values("pk").query.sql_with_params()
    except EmptyResultSet:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM ({sql}) AS found", parameters)  # noqa: S608 - made by the ORM
        [total] = cursor.fetchone()
    return int(total)


def parse_limit(text: str | None) -> int:
    if text is None:
        return 20
    if not (text.isascii() and text.isdecimal() and len(text) <= 3 and 1 <= int(text) <= MAX_LIMIT):
        raise InvalidRequest(f"limit must be an integer from 1 to {MAX_LIMIT}.", param="limit")
    return int(text)


class KeysetPagination(BasePagination):
    """Pages a queryset by one of `orders`, each named as `sort` names it, ascending; the default is `-created`.

    A page ends at its limit or before MAX_PAGE bytes, whichever comes first.
    """

    parameters = frozenset({"limit", "cursor", "sort"})
    orders: ClassVar[Mapping[str, Order]] = {"created": Order("created")}

    @property
    def sorts(self) -> list[str]:
        return [f"{sign}{name}" for name in self.orders for sign in ("-", "")]

    def order(self, request: Request) -> tuple[str, Order]:
        """The order asked for, and its name."""
        name = request.query_params.get("sort", "-created")
        if name not in self.sorts:
            raise InvalidRequest(f"sort must be one of: {', '.join(self.sorts)}.", param="sort")
        return name, replace(self.orders[name.removeprefix("-")], descending=name.startswith("-"))

    def page(self, queryset: QuerySet[M], request: Request, show: Callable[[list[M]], Iterable[object]]) -> Response:
        """The page that the request asks for; `show` turns rows into what is sent of them."""
        query = request.query_params
        limit = parse_limit(query.get("limit"))
        sort, order = self.order(request)
        beside = self.parameters | {"fields"}  # neither which rows there are, nor their order, hangs on these
        filters = sorted((name, ",".join(values)) for name, values in query.lists() if name not in beside)
        caller: Any = request.auth  # a grant of `accounts`
        scope = f"{caller.account_id} {request.path} {sort} {filters!r}"
        total = count(queryset)
        if "cursor" in query:
            value, raw_id = decode_cursor(scope, query["cursor"])
            queryset = order.after(queryset, order.kind.decode(value), decode_key(queryset.model, raw_id))
        shown, last = self.fill(queryset, order, limit, show)
        page: dict[str, object] = {
            "object": "list",
            "data": shown,
            "hasMore": last is not None,
            "totalCount": total,
        }
        if last is not None:
            value = order.kind.encode(getattr(last, order.field))
            page["nextCursor"] = encode_cursor(scope, value, encode_key(last))
        return Response(page)

    def fill(
        self, queryset: QuerySet[M], order: Order, limit: int, show: Callable[[list[M]], Iterable[object]]
    ) -> tuple[list[orjson.Fragment], M | None]:
        """The rows of a page as JSON, and the last of them if there are more.

        Where the first rows are so large that a page of them would be too, no more are read than can be sent.
        """
        ordered = order.sorted(queryset)
        shown: list[orjson.Fragment] = []
        last: M | None = None
        size, step = 0, READ_FIRST
        while True:
            step = min(step, limit - len(shown))
            rows = list((ordered if last is None else order.after_row(ordered, last))[: step + 1])
            for row, told in zip(rows[:step], show(rows[:step]), strict=True):
                encoded = render_json(told)
                if shown and size + len(encoded) > MAX_PAGE:
                    return shown, last
                size += len(encoded) + 1
                shown.append(orjson.Fragment(encoded))
                last = row
            if len(rows) <= step:
                return shown, None
            if len(shown) == limit:
                return shown, last
            step = (MAX_PAGE - size) * len(shown) // size + 1

    def walk(self, queryset: QuerySet[M], request: Request, size: int) -> Iterator[list[M]]:
        """All rows in the order that the request asks for, `size` of them in memory at a time."""
        _, order = self.order(request)
        ordered = order.sorted(queryset)
        rows = list(ordered[:size])
        while rows:
            yield rows
            rows = list(order.after_row(ordered, rows[-1])[:size])

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, object]]:
        return [
            {
                "name": "limit",
                "in": "query",
                "description": "How many items a page has. It has fewer where they would take more than 1 MiB.",
                "schema": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": 20},
            },
            {
                "name": "cursor",
                "in": "query",
                "description": "`nextCursor` of the page before, with the same filters and `sort`.",
                "schema": {"type": "string"},
            },
            {
                "name": "sort",
                "in": "query",
                "description": "The order of the list; `-` is descending. Equal values are in the order of their ids.",
                "schema": {"type": "string", "enum": self.sorts, "default": "-created"},
            },
        ]

    def get_paginated_response_schema(self, schema: dict[str, object]) -> dict[str, object]:
        return {
            "type": "object",
            "required": ["object", "data", "hasMore", "totalCount"],
            "properties": {
                "object": {"type": "string", "enum": ["list"]},
                "data": schema,
                "hasMore": {"type": "boolean"},
                "nextCursor": {"type": "string", "description": "Absent on the last page."},
                "totalCount": {"type": "integer", "minimum": 0},
            },
        }
