"""The headers of requests and replies in the OpenAPI document."""

from kit.rest import conditional

HEADERS: dict[str, object] = {
    "X-RateLimit-Limit": {
        "description": "Requests allowed in the window that has the least left, the UTC minute or the UTC day.",
        "required": True,
        "schema": {"type": "integer", "minimum": 0, "example": 300},
    },
    "X-RateLimit-Remaining": {
        "description": "Requests left in it.",
        "required": True,
        "schema": {"type": "integer", "minimum": 0, "example": 299},
    },
    "X-RateLimit-Reset": {
        "description": "When it begins anew, in Unix seconds.",
        "required": True,
        "schema": {"type": "integer", "minimum": 0, "example": 1767225600},
    },
    "RateLimit-Policy": {
        "description": "The windows: of each its name, its quota (`q`) and its seconds (`w`).",
        "required": True,
        "schema": {"type": "string", "example": '"minute";q=300;w=60, "day";q=100000;w=86400'},
    },
    "RateLimit": {
        "description": "The window that has the least left: its name, what is left (`r`), and its seconds (`t`).",
        "required": True,
        "schema": {"type": "string", "example": '"minute";r=299;t=31'},
    },
    "X-Request-Id": {
        "description": "Names this request in the log: the one that was sent, or one made for it.",
        "required": True,
        "schema": {"type": "string", "example": "req_019b76da80007cc0a5c1d3a1f0b6e7f2"},
    },
    "Idempotent-Replayed": {
        "description": "`true` if this is the kept reply to an earlier request with the same Idempotency-Key.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "ETag": {
        "description": "Stands for the resource as this reply shows it, for `If-Match` and `If-None-Match`.",
        "schema": {"type": "string", "example": '"5d41402abc4b2a76b9719d91"'},
    },
    "Location": {
        "description": "Where the new resource is.",
        "schema": {"type": "string", "format": "uri-reference", "example": "/v1/content/cnt_01k9"},
    },
    "As-Of": {
        "description": "Only if the reply was read from a replica: it has everything recorded until this time.",
        "schema": {"type": "string", "format": "date-time", "example": "2026-01-01T00:00:00.000000Z"},
    },
    "Retry-After": {
        "description": "Seconds to wait, as in `retryAfter`.",
        "schema": {"type": "integer", "minimum": 1, "example": 42},
    },
    "WWW-Authenticate": {"description": "How to authenticate.", "required": True, "schema": {"type": "string"}},
}
IDEMPOTENCY_KEY: dict[str, object] = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Makes a retry safe: for 24 hours the same request is answered with its first reply.",
    "schema": {"type": "string", "pattern": "^[\\x21-\\x7e]{1,255}$"},
}
IF_MATCH: dict[str, object] = {
    "name": "If-Match",
    "in": "header",
    "description": "The `ETag` that the resource was read with, or `*`. In any other state it is left as it is: 412.",
    "schema": conditional.SCHEMA,
}
IF_NONE_MATCH: dict[str, object] = {
    "name": "If-None-Match",
    "in": "header",
    "description": "The `ETag` of what the client has already. Where that is still so, the reply is a 304.",
    "schema": conditional.SCHEMA,
}
