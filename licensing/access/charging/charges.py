"""The charge of a decision."""

from functools import lru_cache

from analytics.recording.entries import Charge
from kit.values import ids
from licensing.policies.decision import Decision


def build_charge(decision: Decision) -> Charge | None:
    """Return the decision's charge, unless its rule's limit later denies it."""
    price, held = decision.price, decision.license
    if price is None or held is None:
        return None
    return Charge(*price, None if held.id is None else license_key(held.id), held.license_type or "")


@lru_cache(maxsize=10_000)
def license_key(license_id: str) -> str:
    """Its UUID in hex; to decode an id takes longer than to decide."""
    return ids.hex_of("lic", license_id)
