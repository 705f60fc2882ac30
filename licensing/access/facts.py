"""The facts of a check: reading them from its body, building them, recording them in an event, reading them back.

licensing.policies.facts lists all facts; only licences are recorded in a form of their own.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from operator import attrgetter
from typing import Annotated, TypeVar, cast

from msgspec import Meta, Struct, defstruct

from kit.values.faults import Fault
from kit.values.timestamps import parse_timestamp, render_timestamp
from licensing.access.check_values import Check
from licensing.access.faults import Tell
from licensing.access.subjects import Item, RequesterSnapshot
from licensing.policies.effective_licenses import build_facts, build_standing, parse_asserted_standing
from licensing.policies.facts import (
    CHECK_FACTS,
    NOTHING,
    SENT_FACTS,
    STORED_FACTS,
    Fact,
    Facts,
    GivenFacts,
    HeldLicense,
    Recorded,
    as_sent,
    facts_of_check,
    facts_of_item,
    facts_of_wallets,
    or_stored,
)
from licensing.policies.offers import OFFER, build_payer_facts

B = TypeVar("B", bound=Struct)
# A fact in a part of a body: its name, its index in GivenFacts.facts, and the fact if its values are parsed.
Reader = tuple[str, int | None, Fact | None]

WRITTEN = tuple((attrgetter(fact.attribute), fact.name, fact.dump) for fact in STORED_FACTS)


def facts_of(check: Check, item: Item, requester: RequesterSnapshot, now: datetime) -> Facts:
    """Build the facts that decide a check.

    The service's own licences for the item override the caller's claims once any of them has started.
    """
    standing = None
    if requester.licenses is not None:
        presented = check.token.license_id if check.token is not None else None
        standing = requester.licenses.resolve(item.id, item.tags, item.policy_key, now, presented)
    if standing is None:
        standing = parse_asserted_standing(check.given.recorded)
    said = or_stored(check.given.facts, requester.stored) if requester.stored else check.given.facts
    return build_facts(standing, now, check.requester_id, check.permission, item.fact_values, said)


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
        standing = parse_asserted_standing(recorded)
    asked_as = recorded.get("decidedAs", requester_id)
    known = facts_of_item(recorded), facts_of_check(recorded), facts_of_wallets(recorded)
    facts = build_facts(standing, now, asked_as, permission, *known)
    paid = recorded.get("offer")
    if paid is None:
        return facts
    return build_payer_facts(facts, paid.get("licenseType"), paid["accessAmount"], paid["accessCurrency"])


# --- In bodies -------------------------------------------------------------------------------------------------------


def fact_readers(part: str) -> Iterator[Reader]:
    places = {fact.attribute: place for place, fact in enumerate(CHECK_FACTS)}
    for fact in SENT_FACTS[part]:
        yield fact.name, places.get(fact.attribute), None if fact.parse is as_sent else fact


def values_getter(part: str) -> Callable[[Struct], tuple[object, ...]]:
    """Return a function that reads the values of all facts in that part of a body at once."""
    return attrgetter(*(fact.key for fact in SENT_FACTS[part]))


SILENT_IF_EMPTY = (str, dict)
READERS = {
    part: (values_getter(part), tuple(fact_readers(part)), (None,) * len(SENT_FACTS[part])) for part in SENT_FACTS
}


def with_facts(base: type[B], part: str) -> type[B]:
    """Return the structure extended by a field for each fact that callers send in that part."""
    further = [
        (fact.key, Annotated[cast("type[object]", fact.type) | None, Meta(description=fact.description or None)], None)
        for fact in SENT_FACTS[part]
    ]
    return cast("type[B]", defstruct(base.__name__, further, bases=(base,), kw_only=True))


def sent_facts(parts: Iterable[tuple[str, Struct | None]], path: str, tell: Tell) -> GivenFacts:
    """Return the facts in these parts of a body. Null, false, "" and {} count as absent."""
    facts: list[object] | None = None
    recorded: Recorded = {}
    for part, body in parts:
        if body is None:
            continue
        values_of, facts_of_part, absent = READERS[part]
        values = values_of(body)
        if values == absent:  # most callers send an id alone
            continue
        for value, (name, place, fact) in zip(values, facts_of_part, strict=True):
            if value is None or value is False or (not value and isinstance(value, SILENT_IF_EMPTY)):
                continue
            known = recorded[name] = value
            if fact is not None:
                try:
                    known = fact.parse(value, fact.path)
                except Fault as first:
                    for fault in first.all():
                        tell(path, fault.path, fault.message, body)
                    continue
                recorded[name] = fact.dump(known)
            if place is not None:
                facts = facts or list(NOTHING.facts)
                facts[place] = known
    return GivenFacts(NOTHING.facts if facts is None else tuple(facts), recorded) if recorded else NOTHING


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
    license_type = {} if held.license_type is None else {"licenseType": held.license_type}
    return {**license_type, "accessAmount": held.access_amount, "accessCurrency": held.access_currency}
