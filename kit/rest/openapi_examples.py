"""What an app's `examples` modules tell the OpenAPI document of its operations."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Operation:
    """An operation in the document: its id, examples of its request and successful response, its own error codes."""

    id: str
    response: dict[str, object]
    request: dict[str, object] | None = None
    codes: tuple[str, ...] = ()


def page_of(*rows: dict[str, object], **further: object) -> dict[str, object]:
    """A list's reply; `further` are its other members, such as `nextCursor`."""
    return {"object": "list", "data": list(rows), "hasMore": False, "totalCount": len(rows), **further}
