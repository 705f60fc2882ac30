from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction

from tests.conventions.endpoints import ENDPOINTS, Endpoint, each_with_body
from tests.conventions.schemas import Path, fields_of, schema_of, types_of

# Bodies with the nested parts that the samples lack.
LICENSED = {"requester": {"id": "org", "licenses": [{"licenseType": "a"}]}, "expect": {"allowed": False}}
POLICY = {"rules": [], "tests": [LICENSED]}
REFILL = {"amount": 5, "every": "month", "rollover": {"min": 0, "max": 1}}
WALLET = {"thresholds": [{"percent": 20}], "refill": REFILL}
WEBHOOK = {"accessFilter": {"reasons": ["no_license"], "requesterIds": ["org"]}}
SITE = {"rules": [{"pattern": "/a"}], "aliases": ["www.pub.example"]}
RICHER: dict[str, dict[str, Any]] = {
    "POST /v1/policies": POLICY,
    "PATCH /v1/policies/{policy}": POLICY,
    "POST /v1/wallets": WALLET,
    "PATCH /v1/wallets/{wallet}": WALLET,
    "POST /v1/webhooks": WEBHOOK,
    "PATCH /v1/webhooks/{webhook}": WEBHOOK,
    "POST /v1/sites": SITE,
    "PATCH /v1/sites/{site}": SITE,
}

# Why null is refused: by the field's name, or by the request and the field.
ENUMERATION = "an enumeration has no empty value"
RULES = "`[]` removes all rules; null does not, because that changes who gets in"
REQUIRED = "the resource must have it; only a PATCH or a bulk row may leave it out"
REFUSED = {
    **dict.fromkeys(("type", "status", "mode", "unknown", "kind", "period", "defaultAction"), ENUMERATION),
    **dict.fromkeys(("unlistedSigners", "visitorAddresses", "ask"), ENUMERATION),
    **{f"{method} /v1/policies{path} rules": RULES for method, path in [("POST", ""), ("PATCH", "/{policy}")]},
    **{f"POST /v1/policies/{path} rules": RULES for path in ("lint", "{policy}/simulate")},
    **dict.fromkeys(("title", "host"), REQUIRED),
    "PATCH /v1/policies/{policy} name": REQUIRED,
    "PATCH /v1/accounts/me currency": ENUMERATION,
    "PATCH /v1/api-keys/{key} name": REQUIRED,
    "PATCH /v1/api-keys/{key} permissions": "cannot be changed",
    "PATCH /v1/licenses/{license} requesterId": REQUIRED,
    "PATCH /v1/licenses/{license} licenseType": REQUIRED,
    "PATCH /v1/webhooks/{webhook} url": REQUIRED,
    "PATCH /v1/wallets/{wallet} requesterId": REQUIRED,
    "PATCH /v1/wallets/{wallet} unit": REQUIRED,
    "POST /v1/api-keys/bulk items.0.name": REQUIRED,
    "POST /v1/policies/bulk items.0.name": REQUIRED,
    "POST /v1/policies/bulk items.0.rules": RULES,
    "POST /v1/licenses/bulk items.0.requesterId": REQUIRED,
    "POST /v1/licenses/bulk items.0.licenseType": REQUIRED,
}
# Null is as if the field were absent, and these bodies then lack something.
ONE_OF_SEVERAL = {
    "POST /v1/access/check contentId", "POST /v1/access/check/batch contentId",
    "POST /v1/access/check/batch requester", "POST /v1/access/offers/batch items.0.url", "POST /v1/refunds entryId",
    "POST /v1/wallets thresholds.0.percent", "PATCH /v1/wallets/{wallet} thresholds.0.percent",
}  # fmt: skip

# For each PATCH: the fields that null clears, each with a value and what null leaves. `...`: the value of `created`.
MONEY = {"amount": 5, "currency": "EUR"}
CLEARED: dict[str, dict[str, tuple[object, object]]] = {
    "PATCH /v1/content/{content}": {
        "externalId": ("a", None),
        "source": ("https://pub.example/null", None),
        "policyId": ("{policy}", None),
        "metadata": ({"author": "Ada"}, {}),
        "tags": (["a"], []),
    },
    "PATCH /v1/policies/{policy}": {
        "externalId": ("a", None),
        "description": ("a", None),
        "tests": ([LICENSED], []),
        "metadata": ({"a": 1}, {}),
    },
    "PATCH /v1/sites/{site}": {
        **dict.fromkeys(("name", "refusalMessage", "linkLabel", "robotsTxt"), ("a", None)),
        "linkUrl": ("https://pub.example/a", None),
        "aliases": (["www.pub.example"], []),
        "rules": ([{"pattern": "/a", "policyId": None}], []),
    },
    "PATCH /v1/requesters/{requester}": {
        "name": ("a", None),
        "email": ("ada@example.com", None),
        "notes": ("a", None),
        "metadata": ({"a": 1}, {}),
    },
    "PATCH /v1/licenses/{license}": {
        "requesterName": ("a", "a"),  # only PATCH of the requester changes a name
        "externalId": ("a", None),
        "contentIds": (["{content}"], []),
        "tags": (["a"], []),
        "policyIds": (["{policy}"], []),
        "startsAt": ("2026-01-01T00:00:00.000000Z", ...),
        "expiresAt": ("2999-01-01T00:00:00.000000Z", None),
        "price": (MONEY, None),
        "pricePerAccess": (MONEY, None),
        "fee": ({**MONEY, "every": "month"}, None),
        "metadata": ({"a": 1}, {}),
    },
    "PATCH /v1/accounts/me": {"unknownHost": ("deny", "allow"), "timeZone": ("Europe/Berlin", "UTC")},
    "PATCH /v1/api-keys/{key}": {
        "allowedIps": (["203.0.113.0/24"], []),
        "allowedHosts": (["pub.example"], []),
        "rateLimit": ({"requests": 5, "period": "minute"}, None),
        "expiresAt": ("2999-01-01T00:00:00.000000Z", None),
    },
    "PATCH /v1/wallets/{wallet}": {
        "floor": (-5, 0),
        "thresholds": ([{"percent": 20}], []),
        "refill": ({**REFILL, "anchor": "2026-01-01T00:00:00.000000Z"}, None),
    },
    "PATCH /v1/webhooks/{webhook}": {
        "events": (["content.*"], ["*"]),
        "description": ("a", None),
        "accessFilter": ({"reasons": ["no_license"]}, None),
        "headers": ({"X-Tenant": "news"}, None),
    },
}


def optional_fields(schema: dict[str, Any], body: Any) -> Iterator[tuple[Path, bool]]:
    """Yield each optional field, also of the parts that the body has, and whether null is one of its values."""
    for path, field, is_required in fields_of(schema, body):
        if not is_required:
            yield path, "null" in types_of(field)


def rich_body(endpoint: Endpoint, ids: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the sample's body with its nested parts."""
    body = endpoint.filled(ids)[1] if ids else endpoint.body
    return {**(body or {}), **RICHER.get(str(endpoint), {})}


def nullable_by_path(endpoint: Endpoint) -> dict[Path, bool]:
    """Return the optional fields of the body, and whether null is one of their values."""
    return dict(optional_fields(schema_of(endpoint), rich_body(endpoint)))


def name_of(path: Path) -> str:
    return ".".join(map(str, path))


def with_null(body: Any, path: Path) -> Any:
    first, *rest = path
    changed = list(body) if isinstance(body, list) else dict(body)
    changed[first] = with_null(body[first], tuple(rest)) if rest else None
    return changed


@each_with_body()
def test_null_is_accepted_for_each_optional_field_as_documented(api, ids, endpoint):
    for path, may_be_null in nullable_by_path(endpoint).items():
        name = f"{endpoint} {name_of(path)}"
        with transaction.atomic():
            reply = endpoint.send(api, ids, json=with_null(rich_body(endpoint, ids), path))
            transaction.set_rollback(True)
        status = reply["data"][0]["status"] if "bulk" in endpoint.path else reply.status
        is_refused = name in REFUSED or path[-1] in REFUSED
        assert (status == 422) is (is_refused or name in ONE_OF_SEVERAL), (name, reply)
        assert status in (200, 201, 422), (name, reply)
        assert may_be_null is not is_refused, name


def test_each_refusal_of_null_names_an_existing_field():
    names = set()
    for endpoint in ENDPOINTS:
        if endpoint.body is not None:
            for path in nullable_by_path(endpoint):
                names |= {f"{endpoint} {name_of(path)}", path[-1]}
    assert REFUSED.keys() | ONE_OF_SEVERAL <= names


def clearable_fields(endpoint: Endpoint) -> set[str]:
    return {str(path[0]) for path, may_be_null in optional_fields(schema_of(endpoint), {}) if may_be_null}


def with_ids(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [with_ids(one, ids) for one in value]
    return ids.get(value.strip("{}"), value) if isinstance(value, str) else value


@pytest.mark.parametrize("endpoint", [one for one in ENDPOINTS if one.method == "PATCH"], ids=str)
def test_null_in_a_patch_clears_each_field(api, ids, endpoint):
    cleared = CLEARED[str(endpoint)]
    assert clearable_fields(endpoint) - {"licenseId"} == cleared.keys()  # a wallet's licence cannot be changed
    for name, (value, empty) in cleared.items():
        given = with_ids(value, ids)
        shown = "headerNames" if name == "headers" else name
        filled = endpoint.send(api, ids, json={name: given})
        assert filled[shown] == (list(given) if name == "headers" else given), filled
        reply = endpoint.send(api, ids, json={name: None})
        expected = reply["created"] if empty is ... else [] if name == "headers" else empty
        assert (reply.status, reply[shown]) == (200, expected)
        assert endpoint.send(api, ids, json={name: None})[shown] == expected
