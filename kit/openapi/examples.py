"""Examples of operations for the OpenAPI document, from each app's `examples` module."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Operation:
    """An operation in the document: id, example request, example response, and its own error codes."""

    id: str
    response: dict[str, object]
    request: dict[str, object] | None = None
    codes: tuple[str, ...] = ()


def example_page(*rows: dict[str, object], **members: object) -> dict[str, object]:
    """Build a list reply; `members` adds members such as `nextCursor`."""
    return {"object": "list", "data": list(rows), "hasMore": False, "totalCount": len(rows), **members}


def example_outcomes(
    name: str, *outcomes: tuple[int, dict[str, object] | None, dict[str, object] | None]
) -> dict[str, object]:
    """Build the reply to a bulk request from the status, the resource and the error of each row."""
    rows: list[dict[str, object]] = [
        {"index": index, "status": status, name: resource, "error": error}
        for index, (status, resource, error) in enumerate(outcomes)
    ]
    return example_page(*rows)


def example_error(code: str, error_type: str, message: str, param: str) -> dict[str, object]:
    return {"code": code, "message": message, "type": error_type, "param": param}


def more(total: int) -> dict[str, object]:
    """Return the members of the first page of a longer list."""
    cursor = "AAZJrkjIQAABmxPJRTN3brkXjP3oOg0Vf0sVq8GeHc3p5wQ2mUnx"
    return {"hasMore": True, "nextCursor": cursor, "totalCount": total}
