"""The parts that both clients share, without I/O: requests, replies and retries."""

import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from uuid import uuid4

import httpx

from content_access_licensing.amounts import AMOUNTS
from content_access_licensing.errors import BY_TYPE, ApiError, FieldError, ServiceError
from content_access_licensing.responses import ResponseInfo, Result

Query = Mapping[str, Any]
NONE: frozenset[str] = frozenset()
FREE = frozenset({"attributes", "metadata"})  # objects whose names and values are the caller's own
NUMBER = re.compile(r"-?\d{1,30}(\.\d{1,30})?", re.ASCII)
LONGEST_WAIT = 60.0  # seconds; a longer Retry-After raises the error


def checked_key(key: str) -> str:
    """Return the API key. Raises ValueError, without showing the key, if a header cannot carry it."""
    if not key or not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError(
            "The API key is empty, or has a space, a line break or another character that no key has. "
            "Strip what surrounds it, such as the end of the line it was read from."
        )
    return key


@dataclass
class Call:
    """A request to send. With an Idempotency-Key, a POST is as safe to repeat as a GET."""

    method: str
    path: str
    query: Query | None = None
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    answer: str = ""  # type of the reply or of a list's members, if it contains amounts of money

    @property
    def is_safe_to_repeat(self) -> bool:
        return self.method == "GET" or "Idempotency-Key" in self.headers or "If-Match" in self.headers


def call(
    method: str,
    path: str,
    *,
    query: Query | None = None,
    body: Any = None,
    idempotency_key: str | None = None,
    if_match: str | None = None,
    keyed: bool = False,
    answer: str = "",
) -> Call:
    key = idempotency_key or (str(uuid4()) if keyed else None)
    given = {"Idempotency-Key": key, "If-Match": if_match}
    headers = {name: value for name, value in given.items() if value is not None}
    return Call(method, path, query, body, headers, answer)


def request(client: httpx.Client | httpx.AsyncClient, made: Call) -> httpx.Request:
    body = None if made.body is None else json.dumps(sendable(made.body), default=str).encode()
    headers = made.headers | ({"Content-Type": "application/json"} if body is not None else {})
    query = {name: parameter(name, value) for name, value in (made.query or {}).items()}
    return client.build_request(made.method, made.path, params=query, content=body, headers=headers)


def sendable(value: object, *, is_free: bool = False) -> object:
    """Return a body with decimals as strings, which keeps money exact, and as numbers in FREE."""
    match value:
        case dict():
            return {name: sendable(member, is_free=is_free or name in FREE) for name, member in value.items()}
        case list() | tuple():
            return [sendable(member, is_free=is_free) for member in value]
        case Decimal() if is_free:
            return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)
    return value


def parameter(name: str, value: object) -> str | list[str]:
    """Return a query parameter; the values of a list are separated by commas, those of `field[in]` by repetition."""
    if not isinstance(value, list | tuple):
        return text(value)
    values = [text(member) for member in value]
    if name.endswith("[in]") and values:  # without values the parameter would be dropped, and the list unfiltered
        return [one.replace(",", "\\,") for one in values]
    return ",".join(values)


def text(value: object) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def parsed(raw: bytes, answer: str) -> Any:
    """Parse JSON with amounts of money as Decimal, and other numbers unchanged."""
    return worded(json.loads(raw, parse_float=Decimal), AMOUNTS.get(answer, NONE), parent="", is_money=False)


def worded(value: Any, amounts: frozenset[str], *, parent: str, is_money: bool) -> Any:
    match value:
        case dict():
            return {
                # Metadata belongs to the publisher, whatever its names.
                name: worded(member, NONE, parent=name, is_money=False)
                if name == "metadata"
                else worded(
                    member,
                    amounts,
                    parent=name,
                    is_money=is_money or name in amounts or f"{parent}.{name}" in amounts,
                )
                for name, member in value.items()
            }
        case list():
            # Amounts are in objects by name, never in lists of objects: `licenses` of a policy's test are no money.
            return [
                worded(member, amounts, parent=parent, is_money=is_money and not isinstance(member, dict))
                for member in value
            ]
        case bool():
            return value
        case int() | Decimal() if is_money:
            return Decimal(value)
        case str() if is_money and NUMBER.fullmatch(value):  # a rule's price is as it was sent, maybe as text
            return Decimal(value)
        case Decimal():
            return float(value)
    return value


def info_of(reply: httpx.Response) -> ResponseInfo:
    return ResponseInfo(reply.status_code, reply.headers)


def result_of(reply: httpx.Response, answer: str) -> Result:
    """Return the body of a successful reply. Raises ServiceError if it is not from the service."""
    try:
        body = parsed(reply.content, answer)
    except ValueError:
        raise error_of(reply) from None
    if not isinstance(body, dict):
        raise error_of(reply)
    return Result(body, info_of(reply))


def page_of(result: Result) -> tuple[ResponseInfo, list[Result]]:
    """Return a page's members, each with the page's response."""
    return result.response, [Result(member, result.response) for member in result["data"]]


def error_of(reply: httpx.Response) -> ApiError:
    response = info_of(reply)
    try:
        told = reply.json()["error"]
        kind = BY_TYPE.get(told["type"], ApiError)
        return kind(
            reply.status_code,
            told["code"],
            told["message"],
            told.get("param"),
            told.get("retryAfter"),
            response.request_id,
            [
                FieldError(one["code"], one["message"], one.get("param"), one.get("kind"))
                for one in told.get("errors", [])
            ],
            response,
            told.get("kind"),
            told.get("docUrl"),
        )
    except (ValueError, KeyError, TypeError):  # a proxy's reply, not the service's
        return ServiceError(
            reply.status_code, "unreadable_reply", reply.text[:200], request_id=response.request_id, response=response
        )


def wait_after(made: Call, attempt: int, failed: httpx.Response | httpx.TransportError) -> float | None:
    """Return the seconds to wait before a retry, or None if the call must not be retried.

    A call that is not safe to repeat is retried only if it certainly was not carried out.
    """
    if isinstance(failed, httpx.TransportError):
        if not (made.is_safe_to_repeat or isinstance(failed, httpx.ConnectError | httpx.ConnectTimeout)):
            return None
    elif failed.status_code == 429:
        pass
    elif not made.is_safe_to_repeat or not (failed.status_code >= 500 or "Retry-After" in failed.headers):
        return None
    told = "" if isinstance(failed, httpx.TransportError) else failed.headers.get("Retry-After", "")
    wait = float(told) if told.isdecimal() else 0.25 * 2**attempt * random.uniform(1, 2)  # noqa: S311 - no secret
    return wait if wait <= LONGEST_WAIT else None
