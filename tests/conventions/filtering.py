"""Shared data of the filter tests: fields with the values of four rows, and the rows each operator should find.

Expected rows follow from the plainest reading of each operator.
"""

import operator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

COMPARE = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}
EQUALITY = ("eq", "ne", "in")
ORDER = ("eq", "ne", "in", "gt", "gte", "lt", "lte")
DAYS = [datetime(2026, 1, day, 12, 30, 15, 250_000, UTC) for day in (1, 2, 3, 4)]
MOMENTS = [day.strftime("%Y-%m-%dT%H:%M:%S.%fZ") for day in DAYS]

PAST = [day.replace(month=2) for day in DAYS]

# For each list: its fields, the values of its four rows (the last omits the field), and the operators.
FIELDS: dict[str, dict[str, tuple[list[Any], tuple[str, ...]]]] = {
    "/v1/content": {
        "id": (["{row0}", "{row1}", "{row2}", "{row3}"], EQUALITY),
        "type": (["article", "report", "image", "article"], EQUALITY),
        "status": (["active", "archived", "active", "active"], EQUALITY),
        "externalId": (["a-1", "b 2&=?", "c", None], EQUALITY),
        "policyId": (["{p}", "{q}", "{p}", None], EQUALITY),
        "title": (["Alpha", "Beta [b]", "Gämma", "Delta"], EQUALITY),
        "source": (["https://example.com/a", "https://example.com/b?x=1", "https://example.com/c", None], EQUALITY),
        "created": (MOMENTS, ORDER),
        "updated": (MOMENTS, ORDER),
        "metadata.author": (["Ada", "Bob", "Cleo", None], EQUALITY),
        "metadata.category": (["law", "news", "arts", None], EQUALITY),
        "metadata.publishedAt": (["2020-01-01", "2021-06-15", "2022-12-31", None], ORDER),
        "metadata.wordCount": ([0, 200, 2_147_483_647, None], ORDER),
    },
    "/v1/policies": {
        "id": (["{row0}", "{row1}", "{row2}", "{row3}"], EQUALITY),
        "name": (["Alpha", "Beta", "Gamma", "Delta"], EQUALITY),
        "defaultAction": (["allow", "deny", "allow", "deny"], EQUALITY),
        "mode": (["enforce", "observe", "disabled", "observe"], EQUALITY),
        "version": ([1, 2, 3, 4], ORDER),
        "created": (MOMENTS, ORDER),
        "updated": ([MOMENTS[0], MOMENTS[1], MOMENTS[2], None], ORDER),
    },
    "/v1/audit": {
        "action": (["content.created", "policy.created", "policy.updated", "api_key.created"], EQUALITY),
        "actorType": (["system", "key", "key", "command"], EQUALITY),
        "actorId": ([None, "{a}", "{a}", "create_api_key"], EQUALITY),
        "resourceType": (["content", "policy", "policy", "api_key"], EQUALITY),
        "resourceId": (["{c}", "{p}", "{p}", "{k}"], EQUALITY),
        "created": (MOMENTS, ORDER),
    },
    "/v1/license-clients": {
        "id": (["{row0}", "{row1}", "{row2}", "{row3}"], EQUALITY),
        "requesterId": (["org_a", "org b&=", "org_a", "org_d"], EQUALITY),
        "name": (["Crawler", "Search", "Crawler", "Archive"], EQUALITY),
        "revokedAt": ([*MOMENTS[:3], None], ORDER),
        "created": (MOMENTS, ORDER),
    },
    "/v1/licenses": {
        "id": (["{row0}", "{row1}", "{row2}", "{row3}"], EQUALITY),
        "requesterId": (["org_a", "org b&=", "org_a", "org_d"], EQUALITY),
        "licenseType": (["commercial", "personal", "enterprise", "commercial"], EQUALITY),
        "status": (["expired", "revoked", "expired", "active"], EQUALITY),
        "startsAt": (MOMENTS, ORDER),
        "expiresAt": ([*(day.strftime("%Y-%m-%dT%H:%M:%S.%fZ") for day in PAST[:3]), None], ORDER),
        "created": (MOMENTS, ORDER),
        "updated": (MOMENTS, ORDER),
    },
    "/v1/requesters": {
        "id": (["org_a", "org b&=", "org/c", "org_d"], EQUALITY),
        "name": (["Ada", "Bob & Co", "Cleo", None], EQUALITY),
        "email": (["a@a.example", "b@b.example", "c@c.example", None], EQUALITY),
        "created": (MOMENTS, ORDER),
        "updated": ([MOMENTS[0], MOMENTS[1], MOMENTS[2], None], ORDER),
    },
    "/v1/sites": {
        "id": (["{row0}", "{row1}", "{row2}", "{row3}"], EQUALITY),
        "host": (["a.example", "b.example", "c.example", "d.example"], EQUALITY),
        "mode": (["enforce", "observe", "disabled", "observe"], EQUALITY),
        "unknown": (["allow", "deny", "allow", "deny"], EQUALITY),
        "created": (MOMENTS, ORDER),
        "updated": (MOMENTS, ORDER),
    },
    "/v1/access/decisions": {
        "contentId": (["{c}", "{d}", "{c}", "{n}"], EQUALITY),
        "requesterId": (["org_a", "org_b", "org_b", "org_d"], EQUALITY),
        "policyId": (["{p}", "{q}", "{p}", None], EQUALITY),
        "allowed": ([True, False, False, False], EQUALITY),
        "reason": ([None, "policy_denied", "no_license", "no_policy"], EQUALITY),
        "created": (MOMENTS, ORDER),
    },
    "/v1/revenue": {
        "type": (["license", "usage", "adjustment", "adjustment"], EQUALITY),
        "currency": (["EUR", "USD", "JPY", "EUR"], EQUALITY),
        "requesterId": (["org_a", "org_b", "org_b", None], EQUALITY),
        "contentId": (["{c}", "{d}", "{c}", None], EQUALITY),
        "licenseId": (["lic_" + "0" * 25 + "1", "lic_" + "0" * 25 + "2", "lic_" + "0" * 25 + "1", None], EQUALITY),
        "licenseType": (["commercial", "press", "commercial", None], EQUALITY),
        "occurredAt": (MOMENTS[::-1], ORDER),
        "created": (MOMENTS, ORDER),
    },
}


def filled(value: Any, known: dict[str, str]) -> Any:
    return value.format(**known) if isinstance(value, str) else value


def is_optional(values: list[Any]) -> bool:
    return None in values


def text_of(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def matches(op: str, value: Any, operand: Any) -> bool:
    match op:
        case "eq":
            return value == operand
        case "ne":
            return value != operand
        case "in":
            return value in operand
        case _:
            return value is not None and COMPARE[op](value, operand)


def found_by(api, path, query, known):
    """Return the indices of the matching rows, in list order."""
    reply = api.get(f"{path}?{query}")
    index_of = {known[f"row{index}"]: index for index in range(4)}
    found = [index_of[row["id"]] for row in reply["data"]]
    assert reply["totalCount"] == len(found)
    return found


def check_filter(api, path, fields, name, known):
    values = [filled(value, known) for value in fields[name][0]]
    for op in fields[name][1]:
        operand = [values[1], values[2]] if op == "in" else values[1]
        text = ",".join(map(text_of, operand)) if op == "in" else text_of(operand)
        expected = [index for index in (3, 2, 1, 0) if matches(op, values[index], operand)]
        for spelling in [f"{name}[{op}]", f"{name}%5B{op}%5D", *([name] if op == "eq" else [])]:
            query = f"{spelling}={quote(text)}"
            assert (query, found_by(api, path, query, known)) == (query, expected)
    repeated = "&".join(f"{name}[in]={quote(text_of(value))}" for value in values[1:3])
    assert found_by(api, path, repeated, known) == [row for row in (3, 2, 1, 0) if values[row] in values[1:3]]
    if is_optional(values):
        for asked in (True, False):
            expected = [row for row in (3, 2, 1, 0) if (values[row] is not None) == asked]
            assert found_by(api, path, f"{name}[exists]={text_of(asked)}", known) == expected
