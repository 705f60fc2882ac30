"""List pages with signed keyset cursors, newest first unless `sort` is given.

They are described in docs/reference/api.md, Lists and filters.

A page starts after the last row by value: `(created, id) < (…)`. Concurrent inserts neither skip nor repeat rows, and
page 1,000 costs as much as page 1.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import orjson
from django.db.models import Model, QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.http.errors import InvalidRequest
from kit.http.rendering import render_json
from kit.rest.lists.counting import COUNTINGS, CountMode, Total, counting_of
from kit.rest.lists.orders import Order, Position, decode_cursor, decode_key, encode_cursor, encode_key
from kit.values.suggestions import MAX_SHOWN, did_you_mean

MAX_LIMIT = 100
MAX_PAGE = 1024 * 1024  # bytes of JSON per page; a larger row gets a page of its own
DEFAULT_LIMIT = READ_FIRST = 20
M = TypeVar("M", bound=Model)


def parse_limit(text: str | None) -> int:
    return DEFAULT_LIMIT if text is None else parse_count(text, "limit", MAX_LIMIT)


def parse_count(text: str, param: str, most: int) -> int:
    """Parse a parameter from 1 to `most`. Raises InvalidRequest."""
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(most)) and 1 <= int(text) <= most):
        raise InvalidRequest(f"{param} must be an integer from 1 to {most}, not {text[:MAX_SHOWN]!r}.", param=param)
    return int(text)


class KeysetPagination(BasePagination):
    """Pages a queryset by one of `orders`, whose keys are the ascending values of `sort`; the default is `-created`.

    A page ends at its limit or before MAX_PAGE bytes, whichever comes first.
    """

    parameters = frozenset({"limit", "cursor", "sort", "count"})
    orders: ClassVar[Mapping[str, Order]] = {"created": Order("created")}

    @property
    def sorts(self) -> list[str]:
        return [f"{sign}{name}" for name in self.orders for sign in ("-", "")]

    def order(self, request: Request) -> tuple[str, Order]:
        """Return the requested order with its name in `sort`. Raises InvalidRequest for an unknown one."""
        name = request.query_params.get("sort", "-created")
        if name not in self.sorts:
            choices = f"{', '.join(self.sorts)}.{did_you_mean(name, self.sorts)}"
            raise InvalidRequest(f"sort must be one of: {choices}", param="sort")
        return name, replace(self.orders[name.removeprefix("-")], descending=name.startswith("-"))

    def page(
        self,
        queryset: QuerySet[M],
        request: Request,
        show: Callable[[list[M]], Iterable[object]],
        count: Callable[[QuerySet[M], CountMode], Total],
    ) -> Response:
        """Return the requested page. `show` renders rows, `count` counts all matching rows."""
        query = request.query_params
        limit = parse_limit(query.get("limit"))
        sort, order = self.order(request)
        beside = self.parameters | {"fields"}  # these change neither the set of rows nor their order
        filters = sorted((name, ",".join(values)) for name, values in query.lists() if name not in beside)
        caller: Any = request.auth  # an accounts grant
        scope = f"{caller.account_id} {request.path} {sort} {filters!r}"
        counting = counting_of(query)
        after = None
        if "cursor" in query:
            value, raw_id = decode_cursor(scope, query["cursor"])
            after = Position(order.kind.decode(value), decode_key(queryset.model, raw_id))
        shown, last = self.fill(queryset, order, limit, show, after)
        page: dict[str, object] = {"object": "list", "data": shown, "hasMore": last is not None}
        if counting is not CountMode.NONE:
            is_whole = last is None and "cursor" not in query
            total = Total(len(shown)) if is_whole else count(queryset, counting)
            page |= total.at_least(len(shown) + (last is not None)).shown()
        if last is not None:
            value = order.kind.encode(getattr(last, order.field))
            page["nextCursor"] = encode_cursor(scope, value, encode_key(last))
        return Response(page)

    def fill(
        self,
        queryset: QuerySet[M],
        order: Order,
        limit: int,
        show: Callable[[list[M]], Iterable[object]],
        after: Position | None = None,
    ) -> tuple[list[orjson.Fragment], M | None]:
        """Return a page's rows as JSON, and its last row if more follow.

        After large first rows it reads only as many more as are likely to fit.
        """
        ordered = order.sorted(queryset)
        shown: list[orjson.Fragment] = []
        last: M | None = None
        size, step = 0, READ_FIRST
        while True:
            step = min(step, limit - len(shown))
            rows = self.read(ordered, order, step + 1, after)
            for row, told in zip(rows[:step], show(rows[:step]), strict=True):
                encoded = render_json(told)
                if shown and size + len(encoded) > MAX_PAGE:
                    return shown, last
                size += len(encoded) + 1
                shown.append(orjson.Fragment(encoded))
                last, after = row, order.position(row)
            if len(rows) <= step:
                return shown, None
            if len(shown) == limit:
                return shown, last
            step = (MAX_PAGE - size) * len(shown) // size + 1

    def read(self, rows: QuerySet[M], order: Order, size: int, after: Position | None = None) -> list[M]:
        """Return the first rows of a sorted queryset, or the first behind a position."""
        return list((rows if after is None else order.after(rows, after))[:size])

    def following(self, queryset: QuerySet[M], request: Request, size: int) -> Callable[[M | None], list[M]]:
        """Return the function that reads the next `size` rows after a row, in the requested order."""
        _, order = self.order(request)
        ordered = order.sorted(queryset)

        def following(last: M | None) -> list[M]:
            return self.read(ordered, order, size, None if last is None else order.position(last))

        return following

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, object]]:
        return [
            {
                "name": "limit",
                "in": "query",
                "description": "How many items a page has. It has fewer where they would take more than 1 MiB.",
                "schema": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
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
            {
                "name": "count",
                "in": "query",
                "description": "By default `totalCount` may be an estimate if counting takes longer than a second; "
                "then `totalCountIsExact` is false. `exact` waits for the exact number, `none` omits `totalCount`.",
                "schema": {"type": "string", "enum": COUNTINGS},
            },
        ]

    def get_paginated_response_schema(self, schema: dict[str, object]) -> dict[str, object]:
        return {
            "type": "object",
            "required": ["object", "data", "hasMore"],
            "properties": {
                "object": {"type": "string", "enum": ["list"]},
                "data": schema,
                "hasMore": {"type": "boolean"},
                "nextCursor": {"type": "string", "description": "Absent on the last page."},
                "totalCount": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "How many items match in all. Absent with `count=none`.",
                },
                "totalCountIsExact": {
                    "type": "boolean",
                    "description": "`false` if `totalCount` is an estimate; absent if it is exact.",
                },
            },
        }
