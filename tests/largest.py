"""The largest policies, items and requesters that the API accepts."""

from typing import Any

import orjson

from licensing.policies.rules import MAX_RULES_BYTES

LONGEST = "\x01"  # six bytes of JSON for a character


def rules_of(size: int, *, width: int = 8) -> list[dict[str, Any]]:
    """Return rules of about `size` bytes of JSON that never match, with values of `width` characters."""
    rules: list[dict[str, Any]] = []
    room, number = size - 2, 0
    while len(rules) < 100:
        count = min(500, (room - 100) // (width + 3))
        if count < 1:
            break
        names = [f"{number + place:0{width}d}" for place in range(count)]
        rules.append({"action": "deny", "priority": len(rules), "conditions": {"requesterId": names}})
        number += count
        room -= len(orjson.dumps(rules[-1])) + 1
    return rules


def rules(**options: Any) -> list[dict[str, Any]]:
    """Return rules that almost fill a policy's size limit."""
    made = rules_of(MAX_RULES_BYTES, **options)
    assert 0.98 * MAX_RULES_BYTES < len(orjson.dumps(made)) <= MAX_RULES_BYTES
    return made


def many_rules() -> list[dict[str, Any]]:
    """Return the most rules a policy may have, with conditions on tags, so each trace lists the item's tags."""
    grants = [f"p{number:062d}" for number in range(50)]
    last = {
        "action": "allow",
        "priority": 100,
        "conditions": {"default": True},
        "permissions": grants,
        "message": LONGEST * 500,
    }
    looking = [
        {"action": "deny", "priority": number, "conditions": {"tags": [f"{number}-{place}" for place in range(50)]}}
        for number in range(99)
    ]
    assert len(orjson.dumps([*looking, last])) <= MAX_RULES_BYTES
    return [*looking, last]


def content(**fields: Any) -> dict[str, Any]:
    """Return the largest possible item."""
    tags = [LONGEST * 98 + f"{number:02d}" for number in range(50)]
    further = {f"{number:064d}": LONGEST * 500 for number in range(50)}
    return {"title": "x" + LONGEST * 499, "tags": tags, "metadata": {**further, "tags": tags}, **fields}
