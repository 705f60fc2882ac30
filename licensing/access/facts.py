"""The facts of a check: building them, recording them in an event, and reading them back.

licensing.policies.facts lists all facts; only licences are recorded in a form of their own.
"""

from datetime import datetime
from operator import attrgetter

from kit.values.timestamps import parse_timestamp, render_timestamp
from licensing.access.check_values import Check
from licensing.access.subjects import Item, RequesterSnapshot
from licensing.policies.facts import (
    STORED,
    Facts,
    HeldLicense,
    Recorded,
    facts_of_check,
    facts_of_item,
    facts_of_wallets,
    or_stored,
)
from licensing.policies.offers import OFFER, payer_facts
from licensing.policies.standing import build_facts, build_standing, vouched_by

WRITTEN = tuple((attrgetter(fact.attribute), fact.name, fact.dump) for fact in STORED)


def facts_of(check: Check, item: Item, requester: RequesterSnapshot, now: datetime) -> Facts:
    """Build the facts that decide a check.

    The service's own licences for the item override the caller's claims once any of them has started.
    """
    standing = None
    if requester.licenses is not None:
        presented = check.token.license_id if check.token is not None else None
        standing = requester.licenses.resolve(item.id, item.tags, item.policy_key, now, presented)
    if standing is None:
        standing = vouched_by(check.given.recorded)
    said = or_stored(check.given.facts, requester.stored) if requester.stored else check.given.facts
    return build_facts(standing, now, check.requester_id, check.permission, item.known, said)


def recorded_facts(check: Check, item: Item, facts: Facts, requester_name: str | None, key_id: str | None) -> Recorded:
    """Return the facts to record in an event, for `facts_of_event` and for display."""
    recorded = item.facts | check.given.recorded
    for value_of, name, dump in WRITTEN:
        value = value_of(facts)
        if value is not None and name not in recorded:
            recorded[name] = dump(value)
    if facts.licenses:
        paid = [held for held in facts.licenses if held.source == OFFER]
        if paid:
            recorded["offer"] = recorded_offer(paid[0])
    if facts.licenses_by_service:
        recorded["licenses"] = [recorded_license(held) for held in facts.licenses if held.source != OFFER]
        if facts.has_lapsed_license:
            recorded["lapsedLicense"] = True
    if requester_name is not None:
        recorded["requesterName"] = requester_name
    if key_id is not None:
        recorded["keyId"] = key_id
    if facts.new_visitor_id is not None:
        recorded["newVisitorId"] = facts.new_visitor_id
        recorded.pop("visitorId", None)  # counted for the address, not for the cookie
    if facts.requester_id != check.requester_id:
        recorded["decidedAs"] = facts.requester_id
    return recorded


def facts_of_event(recorded: Recorded, requester_id: str, permission: str | None, now: datetime) -> Facts:
    """Rebuild the facts that an event was decided on."""
    if "licenses" in recorded:
        valid = map(license_of_event, recorded["licenses"])
        standing = build_standing(valid, has_lapsed=recorded.get("lapsedLicense", False))
    else:
        standing = vouched_by(recorded)
    asked_as = recorded.get("decidedAs", requester_id)
    known = facts_of_item(recorded), facts_of_check(recorded), facts_of_wallets(recorded)
    facts = build_facts(standing, now, asked_as, permission, *known)
    paid = recorded.get("offer")
    if paid is None:
        return facts
    return payer_facts(facts, paid.get("licenseType"), paid["accessAmount"], paid["accessCurrency"])


# --- Licences --------------------------------------------------------------------------------------------------------


def recorded_license(held: HeldLicense) -> dict[str, object]:
    """Return the recorded form of one of the service's licences."""
    known = {
        "id": held.id,
        "licenseType": held.license_type,
        "expiresAt": render_timestamp(held.expires_at),
        "accessAmount": held.access_amount,
        "accessCurrency": held.access_currency,
    }
    return {name: value for name, value in known.items() if value is not None}


def license_of_event(recorded: Recorded) -> HeldLicense:
    return HeldLicense(
        license_type=recorded["licenseType"],
        source="service",
        id=recorded["id"],
        expires_at=parse_timestamp(recorded["expiresAt"]) if "expiresAt" in recorded else None,
        access_amount=recorded.get("accessAmount"),
        access_currency=recorded.get("accessCurrency"),
    )


def recorded_offer(held: HeldLicense) -> dict[str, object]:
    """Return the recorded form of an accepted offer."""
    tier = {} if held.license_type is None else {"licenseType": held.license_type}
    return {**tier, "accessAmount": held.access_amount, "accessCurrency": held.access_currency}
