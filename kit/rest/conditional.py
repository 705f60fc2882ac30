"""Conditional requests (RFC 9110 §13) with strong entity tags.

A tag is `"state"` or `"state-rest"`: one digest of the writable fields and one of everything else, such as statistics.
`If-Match` compares only the first, because changing statistics must not block a write; `If-None-Match` compares both.
"""

import re
from collections.abc import Mapping
from hashlib import blake2b

import orjson

from kit.http.errors import InvalidRequest, PreconditionFailed

TAG = r'(W/)?"([\x21\x23-\x7e\x80-\xff]*)"'
TAGS = rf"{TAG}([ \t]*,[ \t]*{TAG})*"
IS_LIST = re.compile(TAGS).fullmatch
ANY = "*"
SCHEMA: dict[str, object] = {"type": "string", "pattern": rf"^(\*|{TAGS})$"}


def entity_tag(shown: Mapping[str, object], beside_state: frozenset[str]) -> str:
    """Return the tag of a rendered resource; `beside_state` names the fields that no write changes."""
    state = digest({name: value for name, value in shown.items() if name not in beside_state})
    rest = {name: shown[name] for name in sorted(beside_state & shown.keys()) if says_something(shown[name])}
    return f'"{state}-{digest(rest)}"' if rest else f'"{state}"'


def digest(value: object) -> str:
    # Databases may reorder the members of a JSON object.
    return blake2b(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), digest_size=12).hexdigest()


def says_something(value: object) -> bool:
    """Whether a field has a value: an unused resource has the same tag with and without its statistics."""
    return any(value.values()) if isinstance(value, dict) else value is not None


def tags_in(header: str, value: str) -> list[tuple[str, str]]:
    """Return the tags in a header as (`W/` or "", content). Raises InvalidRequest."""
    if not IS_LIST(value.strip()):
        raise InvalidRequest(f'{header} takes tags in quotation marks, as in "5d41402a", or *.', param=header)
    return re.findall(TAG, value)


def check_if_match(value: str, tag: str) -> None:
    """Raise PreconditionFailed if no strong tag in If-Match has the resource's state, InvalidRequest if it is
    malformed.
    """
    if value.strip() == ANY:
        return
    state = tag.strip('"').partition("-")[0]
    if not any(not weak and seen.partition("-")[0] == state for weak, seen in tags_in("If-Match", value)):
        raise PreconditionFailed("The resource has changed since it was read. Read it again, then change it.")


def is_known(value: str, tag: str) -> bool:
    """Whether If-None-Match contains this tag. Raises InvalidRequest if it is malformed."""
    return value.strip() == ANY or any(f'"{seen}"' == tag for _, seen in tags_in("If-None-Match", value))
