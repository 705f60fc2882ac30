"""Reads the golden cases (README.md tells their format)."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from config.api.middleware import parse_address
from config.api.timestamps import parse_timestamp
from licensing.decisions import CompiledPolicy
from licensing.facts import Facts, HeldLicense
from licensing.rules import parse_rules

NOW = "2026-06-01T12:00:00Z"
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


def facts(case: Case) -> Facts:
    """What a check that says this much makes known; that the service reads it so is tested by itself."""
    item, check = case.get("item", {}), case["check"]
    requester = check["requester"] if isinstance(check["requester"], dict) else {"id": check["requester"]}
    license_type = requester.get("licenseType")
    has_valid_license = requester.get("hasValidLicense") is True
    return Facts(
        now=moment(case),
        requester_id=requester["id"],
        license_types=(license_type,) if license_type else (),
        has_valid_license=has_valid_license,
        has_lapsed_license=case.get("lapsedLicense", False),
        licenses=(HeldLicense(license_type),) if license_type or has_valid_license else (),
        permission=check.get("permission"),
        ip=parse_address(check.get("context", {}).get("ip") or ""),
        content_type=item.get("type", "article"),
        tags=frozenset(item.get("tags", ())),
        category=item.get("metadata", {}).get("category"),
        archived=item.get("status") == "archived",
    )
