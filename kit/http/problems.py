"""Errors as problem details (RFC 9457), for clients that prefer them in `Accept`."""

from collections.abc import Mapping
from http.client import responses

from django.http.request import MediaType

PROBLEM, JSON = "application/problem+json", "application/json"


def prefers_problem(accept: str) -> bool:
    """Whether `accept` ranks problem details above JSON. Ranges such as `*/*` count for neither."""
    accept = accept.lower()
    if PROBLEM not in accept:
        return False
    weights: dict[str, float] = {}
    for part in accept.split(","):
        media = part.partition(";")[0].strip()
        if media in (PROBLEM, JSON) and media not in weights:
            weights[media] = MediaType(part).quality
    return weights.get(PROBLEM, 0) > weights.get(JSON, 0)


def as_problem(status: int, error: Mapping[str, object]) -> dict[str, object]:
    """Build problem details from the envelope's `error`, which stays available as a member."""
    title = responses.get(status, str(error["code"]))
    return {"type": "about:blank", "title": title, "status": status, "detail": error["message"], "error": error}
