"""Conditional requests (RFC 9110 §13) with strong entity tags.

A tag is `"state"` or `"state-rest"`: one digest of the writable fields and one of everything else, such as statistics.
`If-Match` compares only the first, because changing statistics must not block a write; `If-None-Match` compares both.

A proxy that compresses a reply makes its tag weak or adds the coding to it, as in `W/"state"` or `"state-gzip"`. Both
comparisons see through that: the state in the tag cannot have changed on the way.
"""

import re
from collections.abc import Mapping
from hashlib import blake2b

import orjson
from rest_framework.serializers import BaseSerializer

from kit.http.errors import InvalidRequest, PreconditionFailed

TAG = r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"'
TAGS = rf"{TAG}([ \t]*,[ \t]*{TAG})*"
IS_LIST = re.compile(TAGS).fullmatch
STATE = re.compile(r"[0-9a-f]+(?![0-9A-Za-z])").match  # a digest, up to the rest or to what a proxy adds
CODINGS = ("gzip", "br", "deflate", "zstd")
ANY = "*"
SCHEMA: dict[str, object] = {"type": "string", "pattern": rf"^(\*|{TAGS})$"}


def entity_tag(serializer: type[BaseSerializer], shown: Mapping[str, object]) -> str:
    """Return the tag of a resource as the serializer shows it. No write changes the fields in its `beside_state`."""
    beside_state: frozenset[str] = getattr(serializer, "beside_state", frozenset())
    state, rest = {}, {}
    for name, value in shown.items():
        if name not in beside_state:
            state[name] = value
        # An unused resource has the same tag with and without its statistics.
        elif any(value.values()) if isinstance(value, dict) else value is not None:
            rest[name] = value
    return f'"{digest(state)}-{digest(rest)}"' if rest else f'"{digest(state)}"'


def digest(value: object) -> str:
    # Databases may reorder the members of a JSON object.
    return blake2b(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), digest_size=12).hexdigest()


def tags_in(header: str, value: str) -> list[str]:
    """Return the opaque tags in a header: without `W/` and quotation marks. Raises InvalidRequest."""
    if not IS_LIST(value.strip()):
        raise InvalidRequest(f'{header} takes tags in quotation marks, as in "5d41402a", or *.', param=header)
    return [opaque for _, opaque in re.findall(TAG, value)]


def state_of(opaque: str) -> str:
    """Return the digest of the state in a tag of ours; empty for any other tag."""
    match = STATE(opaque)
    return match[0] if match else ""


def without_coding(opaque: str) -> str:
    """Return the tag without the coding that a proxy has added to it."""
    for coding in CODINGS:
        state = opaque.removesuffix(coding)
        if state != opaque and state.endswith(("-", ";", ":")):
            return state.rstrip("-;:")
    return opaque


def has_state(value: str, tag: str) -> bool:
    """Whether a tag in If-Match has the resource's state. Raises InvalidRequest if it is malformed."""
    if value.strip() == ANY:
        return True
    state = state_of(tag.strip('"'))
    return any(state_of(opaque) == state for opaque in tags_in("If-Match", value))


def precondition_failed(tag: str) -> PreconditionFailed:
    """Return the error that names the resource's current tag."""
    changed = f"The resource has changed since it was read: If-Match has to be {tag} now."
    return PreconditionFailed(f"{changed} Read it again, then change it.")


def is_known(value: str, tag: str) -> bool:
    """Whether If-None-Match contains this tag. Raises InvalidRequest if it is malformed."""
    if value.strip() == ANY:
        return True
    return any(f'"{without_coding(opaque)}"' == tag for opaque in tags_in("If-None-Match", value))
