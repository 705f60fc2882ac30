"""Filters of lists, with values and expected rows."""

from typing import Any

from tests.conventions.filtering import EQUALITY, MOMENTS, ORDER

AUDIT = {
    "action": (["content.created", "policy.created", "policy.updated", "api_key.created"], EQUALITY),
    "actorType": (["system", "key", "key", "command"], EQUALITY),
    "actorId": ([None, "{a}", "{a}", "create_api_key"], EQUALITY),
    "resourceType": (["content", "policy", "policy", "api_key"], EQUALITY),
    "resourceId": (["{c}", "{p}", "{p}", "{k}"], EQUALITY),
    "created": (MOMENTS, ORDER),
}


CLIENTS: dict[str, tuple[list[Any], tuple[str, ...]]] = {
    "id": (["{row0}", "{row1}", "{row2}", "{row3}"], EQUALITY),
    "requesterId": (["org_a", "org b&=", "org_a", "org_d"], EQUALITY),
    "name": (["Crawler", "Search", "Crawler", "Archive"], EQUALITY),
    "revokedAt": ([*MOMENTS[:3], None], ORDER),
    "created": (MOMENTS, ORDER),
}
