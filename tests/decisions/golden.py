"""Read the golden cases (their README.md describes the format)."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kit.http.headers import parse_address
from kit.values.timestamps import parse_timestamp
from licensing.licenses.license_index import LicenseIndex
from licensing.policies.compiled import CompiledPolicy
from licensing.policies.effective_licenses import Standing, Term, asserted_standing
from licensing.policies.facts import Facts, HeldLicense
from licensing.policies.matching.attributes import load_attributes
from licensing.policies.rules import parse_rules

NOW = "2026-06-01T12:00:00Z"
START = "2020-01-01"
Case = dict[str, Any]


def cases() -> list[Any]:
    return [
        pytest.param(case, id=f"{path.stem}: {case['name']}")
        for path in sorted(Path(__file__).parent.glob("*.json"))
        for case in json.loads(path.read_text())
    ]


def moment(case: Case) -> datetime:
    return parse_timestamp(case.get("now", NOW))


def policy(case: Case) -> CompiledPolicy | None:
    if case["policy"] is None:
        return None
    default_action = case["policy"].get("defaultAction", "deny")
    return CompiledPolicy.of("pol_golden", 1, default_action, parse_rules(case["policy"]["rules"]))


def held(case: Case) -> Standing | None:
    """Return the standing from stored licences; `{item}` and `{policy}` stand for this item and its policy."""
    terms = [
        Term(
            license=HeldLicense(
                license_type=one["licenseType"],
                source="service",
                id=f"lic_{number}",
                expires_at=parse_timestamp(one["expiresAt"]) if "expiresAt" in one else None,
            ),
            starts_at=parse_timestamp(one.get("startsAt", START)),
            revoked=one.get("revoked", False),
            content_ids=one.get("contentIds", ()),
            tags=one.get("tags", ()),
            policies=one.get("policyIds", ()),
        )
        for number, one in enumerate(case.get("licenses", ()))
    ]
    tags = case.get("item", {}).get("tags", ())
    return LicenseIndex(sorted(terms, key=lambda term: term.starts_at)).resolve(
        "{item}", tags, "{policy}", moment(case)
    )


def facts(case: Case) -> Facts:
    """Return the facts that such a check provides."""
    item, check = case.get("item", {}), case["check"]
    requester = check["requester"] if isinstance(check["requester"], dict) else {"id": check["requester"]}
    standing = held(case) or asserted_standing(requester.get("licenseType"), requester.get("hasValidLicense") is True)
    return Facts(
        now=moment(case),
        requester_id=requester["id"],
        license_types=standing.license_types,
        has_valid_license=standing.is_valid,
        has_lapsed_license=case.get("lapsedLicense", standing.has_lapsed),
        licenses_by_service=standing.by_service,
        licenses=standing.licenses,
        permission=check.get("permission"),
        ip=parse_address(check.get("context", {}).get("ip") or ""),
        content_type=item.get("type", "article"),
        tags=frozenset(item.get("tags", ())),
        category=item.get("metadata", {}).get("category"),
        archived=item.get("status") == "archived",
        attributes=load_attributes(requester["attributes"]) if "attributes" in requester else None,
    )
