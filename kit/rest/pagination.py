"""Lists: newest first, walked by a signed keyset cursor (docs/api-guide.md, Lists and filters).

A page starts where the last one ended, by value: `(created, id) < (…)`. So no row is skipped or repeated while others
are inserted, and page 1,000 costs what page 1 does.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import orjson
from django.conf import settings
from django.db.models import F
from django.db.models.fields.tuple_lookups import Tuple, TupleLessThan
from rest_framework.pagination import BasePagination
from rest_framework.response import Response

from kit.http.errors import InvalidRequest
from kit.http.rendering import render_json
from kit.values import ids

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SIGNATURE_BYTES = 16
MAX_LIMIT = 100
MAX_PAGE = 1024 * 1024  # bytes of its rows as JSON; a row that is larger makes a page by itself
READ_FIRST = 20  # rows: the default limit


def sign(scope: str, payload: bytes) -> bytes:
    key = sha256(b"cursor:" + settings.SECRET_KEY.encode()).digest()
    return hmac.digest(key, len(scope).to_bytes(4) + scope.encode() + payload, "sha256")[:SIGNATURE_BYTES]


def as_text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def encode_cursor(scope: str, created: datetime, raw_id: bytes) -> str:
    payload = ((created - EPOCH) // MICROSECOND).to_bytes(8, signed=True) + raw_id
    return as_text(payload + sign(scope, payload))


def decode_cursor(scope: str, text: str) -> tuple[datetime, bytes]:
    """Raises InvalidRequest for everything but a cursor that was made for this scope."""
    try:
        raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except ValueError:
        raw = b""
    if as_text(raw) != text:  # the decoder skips what is no digit, and the last digit's spare bits
        raw = b""
    payload, signature = raw[:-SIGNATURE_BYTES], raw[-SIGNATURE_BYTES:]
    if len(payload) != 24 or not hmac.compare_digest(sign(scope, payload), signature):
        raise InvalidRequest(
            "This is no cursor of this list. Use nextCursor as it came, with the same filters.", param="cursor"
        )
    return EPOCH + int.from_bytes(payload[:8], signed=True) * MICROSECOND, payload[8:]


def parse_limit(text: str | None) -> int:
    if text is None:
        return 20
    if not (text.isascii() and text.isdecimal() and len(text) <= 3 and 1 <= int(text) <= MAX_LIMIT):
        raise InvalidRequest(f"limit must be an integer from 1 to {MAX_LIMIT}.", param="limit")
    return int(text)


class KeysetPagination(BasePagination):
    """Pages a queryset over a model with `created` and `id`, the two by which its index is ordered.

    A page ends at its limit or before MAX_PAGE bytes, whichever comes first.
    """

    parameters = frozenset({"limit", "cursor"})
    created_field = "created"

    def page(self, queryset: Any, request: Any, show: Callable[[list[Any]], Iterable[Any]]) -> Response:
        """The page that the request asks for; `show` makes of rows what is sent of them."""
        query = request.query_params
        limit = parse_limit(query.get("limit"))
        filters = sorted((name, value) for name, value in query.items() if name not in self.parameters)
        scope = f"{request.auth.account_id} {request.path} {filters!r}"
        total = queryset.count()
        created, prefix = self.created_field, queryset.model._meta.pk.prefix
        if "cursor" in query:
            moment, raw_id = decode_cursor(scope, query["cursor"])
            queryset = self.after(queryset, moment, ids.encode(prefix, raw_id))
        shown, last = self.fill(queryset.order_by(f"-{created}", "-id"), limit, show)
        page = {"object": "list", "data": shown, "hasMore": last is not None, "totalCount": total}
        if last is not None:
            page["nextCursor"] = encode_cursor(scope, getattr(last, created), ids.decode(prefix, last.pk) or b"")
        return Response(page)

    def fill(
        self, ordered: Any, limit: int, show: Callable[[list[Any]], Iterable[Any]]
    ) -> tuple[list[orjson.Fragment], Any]:
        """The rows of a page as JSON, and the last of them if there are more.

        Where the first rows are so large that a page of them would be too, no more are read than can be sent.
        """
        shown: list[orjson.Fragment] = []
        size, last, step = 0, None, READ_FIRST
        while True:
            step = min(step, limit - len(shown))
            rows = list(
                (ordered if last is None else self.after(ordered, getattr(last, self.created_field), last.pk))[
                    : step + 1
                ]
            )
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

    def after(self, queryset: Any, created: datetime, key: str) -> Any:
        """What stands behind that row in the list."""
        return queryset.filter(TupleLessThan(Tuple(F(self.created_field), F("id")), (created, key)))

    def walk(self, queryset: Any, size: int) -> Iterator[list[Any]]:
        """All rows in the order of the list, `size` of them in memory at a time."""
        ordered = queryset.order_by(f"-{self.created_field}", "-id")
        rows = list(ordered[:size])
        while rows:
            yield rows
            last = rows[-1]
            rows = list(self.after(ordered, getattr(last, self.created_field), last.pk)[:size])

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
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
                "description": "`nextCursor` of the page before, with the same filters.",
                "schema": {"type": "string"},
            },
        ]

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
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
