"""The table of event types, from which the guide's catalogue, the OpenAPI document and the admin are generated."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field

from kit.values.json_values import JsonValue

LATER = "2026-02-14T16:45:00.000000Z"  # in examples
Changes = Mapping[str, list[object]]  # [before, after] of each field, as in the audit log
PING = "ping"
LIMIT_REACHED = "limit.reached"


@dataclass(frozen=True)
class EventType:
    """An event type; `object` is the kind of resource in `data`.

    A change writes the type whose `action` matches and whose `when` accepts the changed fields, otherwise the one
    without `when`. In examples, `previous` holds former values (None if the type has none) and `now` the current ones.
    `must_be_named` excludes a type from `*`; endpoints have to name it.
    """

    name: str
    object: str
    description: str
    _: KW_ONLY
    action: str = ""  # in the audit log
    previous: Mapping[str, JsonValue] | None = None
    now: Mapping[str, JsonValue] = field(default_factory=dict)
    when: Callable[[Changes], bool] | None = None
    must_be_named: bool = False


def is_archived(changes: Changes) -> bool:
    return changes.get("status", [None, None])[1] == "archived"


TYPES = [
    EventType("content.created", "content", "An item was registered.", action="content.created"),
    EventType(
        "content.archived",
        "content",
        "An item was archived, whatever else changed with it.",
        action="content.updated",
        previous={"status": "active"},
        now={"status": "archived"},
        when=is_archived,
    ),
    EventType(
        "content.updated",
        "content",
        "An item changed.",
        action="content.updated",
        previous={"title": "Markets in Jan"},
    ),
    EventType(
        "content.deleted", "content", "An item was deleted. `data` is its last state.", action="content.deleted"
    ),
    EventType("policy.created", "policy", "A policy was created.", action="policy.created"),
    EventType(
        "policy.updated",
        "policy",
        "A policy was changed: it has a new version.",
        action="policy.updated",
        previous={"name": "Draft", "version": 1},
        now={"version": 2, "updated": LATER},
    ),
    EventType(
        "policy.rolled_back",
        "policy",
        "A policy was rolled back: its new version repeats an earlier one.",
        action="policy.rolled_back",
        previous={"name": "Draft", "version": 2},
        now={"version": 3, "updated": LATER},
    ),
    EventType("policy.deleted", "policy", "A policy was deleted. `data` is its last state.", action="policy.deleted"),
    EventType("api_key.created", "api_key", "A key was created, also by rotating another.", action="api_key.created"),
    EventType(
        "api_key.updated",
        "api_key",
        "A key's name, addresses or expiry changed.",
        action="api_key.updated",
        previous={"name": "Servers"},
    ),
    EventType(
        "api_key.rotated",
        "api_key",
        "A key was replaced. `data` is the old key.",
        action="api_key.rotated",
        previous={"expiresAt": None},
        now={"expiresAt": LATER},
    ),
    EventType(
        "api_key.revoked",
        "api_key",
        "A key was revoked.",
        action="api_key.revoked",
        previous={"revokedAt": None},
        now={"revokedAt": LATER},
    ),
    EventType("api_key.expiring", "api_key", "A key will expire. Sent 7 days and 1 day before."),
    EventType(
        "requester.updated",
        "requester",
        "A customer's name, e-mail address, notes or metadata were changed. Checks and licences change none of them.",
        action="requester.updated",
        previous={"name": "Acme GmbH", "updated": None},
        now={"updated": LATER},
    ),
    EventType("license.created", "license", "A licence was issued.", action="license.created"),
    EventType(
        "license.updated",
        "license",
        "A licence changed.",
        action="license.updated",
        previous={"licenseType": "personal"},
    ),
    EventType(
        "license.revoked",
        "license",
        "A licence was revoked.",
        action="license.revoked",
        previous={"status": "active", "revokedAt": None},
        now={"status": "revoked", "revokedAt": LATER},
    ),
    EventType("license.expiring", "license", "A licence will expire. Sent 7 days and 1 day before."),
    EventType(
        "license.expired",
        "license",
        "A licence has expired. Sent up to 5 minutes later; checks refuse at once.",
        now={"status": "expired"},
    ),
    EventType(
        "wallet.low",
        "wallet",
        "A wallet's balance fell to one of its thresholds or below. Sent each time it falls.",
        previous={"balance": 2010},
        now={"balance": 1990},
    ),
    EventType(
        "wallet.exhausted",
        "wallet",
        "A wallet is empty, or a check was denied because too little was left. Sent once until credit is added.",
        previous={"balance": 1},
        now={"balance": 0},
    ),
    EventType(
        "wallet.topped_up",
        "wallet",
        "Credit was added to a wallet by a grant that started, a refill, a refund or a merge.",
        previous={"balance": 120},
        now={"balance": 10120},
    ),
    EventType("grant.expiring", "grant", "A grant with credit left will expire. Sent 7 days and 1 day before."),
    EventType(
        "revenue.adjusted", "ledger_entry", "An adjustment was added to the ledger.", action="ledger_entry.created"
    ),
    EventType("payment.created", "payment", "A payment or payout was recorded.", action="payment.created"),
    EventType(
        "payment.voided",
        "payment",
        "A payment or payout was voided.",
        action="payment.voided",
        previous={"voidedAt": None, "voidReason": None},
        now={"voidedAt": LATER, "voidReason": "Returned by the bank"},
    ),
    EventType("import.finished", "content_import", "The import of a content file ended."),
    EventType(
        "access.denied",
        "access_summary",
        "A requester was denied access: one event per reason and minute. Not included in `*`.",
        must_be_named=True,
    ),
    EventType(
        "access.allowed",
        "access_summary",
        "A requester was allowed access: one event per minute. Not included in `*`.",
        now={"allowed": True, "reason": None},
        must_be_named=True,
    ),
    EventType(
        LIMIT_REACHED,
        "limit",
        "80 % or 100 % of a plan's limit is used, or all of a rule's limit. Sent once per window.",
    ),
    EventType(
        "webhook_endpoint.disabled",
        "webhook_endpoint",
        "The service disabled an endpoint: it answered 410, or failed for five days.",
        action="webhook_endpoint.disabled",
        previous={"status": "enabled", "disabledReason": None},
        now={"status": "disabled", "disabledReason": "It answered 410 Gone."},
    ),
    EventType(PING, "webhook_endpoint", "A test event. Sent only to the endpoint that was pinged."),
]
# The permission that a key needs to see the events about an object, besides webhooks:manage.
PERMISSIONS = {
    "content": "content:read",
    "content_import": "content:read",
    "policy": "policies:read",
    "limit": "policies:read",  # a rule's limit names the policy and the requester
    "api_key": "api_keys:manage",
    "requester": "licenses:read",
    "license": "licenses:read",
    "wallet": "licenses:read",
    "grant": "licenses:read",
    "ledger_entry": "revenue:read",
    "payment": "revenue:read",
    "access_summary": "analytics:read",
    "webhook_endpoint": "webhooks:manage",
}
BY_NAME = {event_type.name: event_type for event_type in TYPES}


def by_action(types: Iterable[EventType]) -> dict[str, list[EventType]]:
    """Return the types of changes by their actions, those with a condition before those without."""
    types_by_action: dict[str, list[EventType]] = {}
    for event_type in sorted(types, key=lambda one: one.when is None):
        if event_type.action:
            types_by_action.setdefault(event_type.action, []).append(event_type)
    return types_by_action


BY_ACTION = by_action(TYPES)
SUBSCRIBED = [event_type.name for event_type in TYPES if event_type.name != PING]
# What an endpoint may subscribe to: everything, a group, a type.
PATTERNS = ["*", *sorted({f"{name.partition('.')[0]}.*" for name in SUBSCRIBED}), *SUBSCRIBED]
EXPLICIT_ONLY_TYPES = [event_type.name for event_type in TYPES if event_type.must_be_named]


def covers(pattern: str, name: str) -> bool:
    """Whether a pattern (`*`, a group such as `content.*`, or a type) includes the type."""
    if pattern == "*":
        return name not in EXPLICIT_ONLY_TYPES
    return pattern == name or (pattern.endswith(".*") and name.startswith(pattern[:-1]))


def covered_by(patterns: Iterable[str]) -> list[str]:
    """Return the types that an endpoint with these patterns receives."""
    all_patterns = list(patterns)
    return [name for name in SUBSCRIBED if any(covers(pattern, name) for pattern in all_patterns)]
