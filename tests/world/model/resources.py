"""Expected resources at the end of the month, by id."""

from collections.abc import Callable
from typing import Any

from tests.world.diary import moment
from tests.world.model.expected import Expected

Rows = dict[str, dict[str, Any]]


def text_of(given: str) -> str:
    return f"{moment(given):%Y-%m-%dT%H:%M:%S.%fZ}"


def content(month: Expected) -> Rows:
    ids = {name: known.latest["id"] for name, known in month.diary.policies.items()}
    return {
        known.latest["id"]: {
            "externalId": name,
            "title": known.latest["title"],
            "type": known.latest["type"],
            "status": known.latest["status"],
            "tags": known.latest["tags"],
            "policyId": ids.get(known.latest["policy"]),
        }
        for name, known in month.diary.items.items()
        if not known.latest.get("deleted")
    }


def policies(month: Expected) -> Rows:
    return {
        known.latest["id"]: {
            "name": name,
            "version": known.latest["version"],
            "mode": known.latest.get("mode", "enforce"),
        }
        for name, known in month.diary.policies.items()
    }


def sites(month: Expected) -> Rows:
    return {
        known.latest["id"]: {"host": host, "mode": known.latest["mode"]} for host, known in month.diary.sites.items()
    }


def licences(month: Expected) -> Rows:
    def status(held: Any) -> str:
        if held.get("revokedAt"):
            return "revoked"
        return "expired" if held["expiresAt"] and held["expiresAt"] <= month.now else "active"

    ids = {name: known.latest["id"] for name, known in month.diary.policies.items()}
    return {
        id_: {
            "requesterId": known.latest["requester"],
            "licenseType": known.latest["type"],
            "status": status(known.latest),
            "contentIds": known.latest["contentIds"],
            "tags": known.latest["tags"],
            "policyIds": [ids[name] for name in known.latest["policies"]],
        }
        for id_, known in month.diary.licenses.items()
    }


def requesters(month: Expected) -> Rows:
    """Return everyone who has a licence, a profile or a decision."""
    merged = month.diary.merged
    return {id_: {"name": name, "mergedInto": merged.get(id_)} for id_, name in month.names.items()}


def payments(month: Expected) -> Rows:
    recorded = {row["id"]: row["created"] for row in month.rows("payments")}
    return {
        id_: {
            "requesterId": paid.requester,
            "requesterName": month.names.get(paid.requester),
            "kind": paid.kind,
            "amount": paid.amount,
            "currency": paid.currency,
            "externalId": paid.external_id,
            "receivedAt": text_of(paid.received) if paid.received else recorded.get(id_),
            "note": paid.note,
            "grantId": paid.grant,
            "voidReason": paid.reason,
        }
        for id_, paid in month.diary.payments.items()
    }


def wallets(month: Expected) -> Rows:
    return {
        id_: {
            "requesterId": purse.owner_at(month.now),
            "requesterName": month.names.get(purse.owner_at(month.now)),
            "unit": purse.unit,
            "licenseId": purse.license,
        }
        for id_, purse in month.diary.wallets.items()
    }


LISTS: dict[str, Callable[[Expected], Rows]] = {
    "content": content,
    "policies": policies,
    "sites": sites,
    "licences": licences,
    "requesters": requesters,
    "payments": payments,
    "wallets": wallets,
}
