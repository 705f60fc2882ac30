"""Conditional requests (RFC 9110 §13), by strong entity tags.

A tag is `"state"` or `"state-rest"`: a digest of what can be written, and one of what else the reply shows, such as
figures. `If-Match` compares the first alone, for figures that move are no reason to refuse a change; `If-None-Match`
compares all.
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
    """The tag of a resource as shown; `beside_state` names the fields that no write changes."""
    state = digest({name: value for name, value in shown.items() if name not in beside_state})
    rest = {name: shown[name] for name in sorted(beside_state & shown.keys()) if says_something(shown[name])}
    return f'"{state}-{digest(rest)}"' if rest else f'"{state}"'


def digest(value: object) -> str:
    # A database may keep an object's members in another order than they were sent in.
    return blake2b(orjson.dumps(value, option=orjson.OPT_SORT_KEYS), digest_size=12).hexdigest()


def says_something(value: object) -> bool:
    """Whether a field has a value yet: an unused resource has one tag, with its figures or without."""
    return any(value.values()) if isinstance(value, dict) else value is not None


def tags_in(header: str, value: str) -> list[tuple[str, str]]:
    """The tags of a list: `W/` or nothing, and what is quoted. Raises InvalidRequest."""
    if not IS_LIST(value.strip()):
        raise InvalidRequest(f'{header} takes tags in quotation marks, as in "5d41402a", or *.', param=header)
    return re.findall(TAG, value)


def check_if_match(value: str, tag: str) -> None:
    """Raises PreconditionFailed for a resource in another state than the client has seen; InvalidRequest."""
    if value.strip() == ANY:
        return
    state = tag.strip('"').partition("-")[0]
    if not any(not weak and seen.partition("-")[0] == state for weak, seen in tags_in("If-Match", value)):
        raise PreconditionFailed("The resource has changed since it was read. Read it again, then change it.")


def is_known(value: str, tag: str) -> bool:
    """Whether If-None-Match says that the client has this. Raises InvalidRequest."""
    return value.strip() == ANY or any(f'"{seen}"' == tag for _, seen in tags_in("If-None-Match", value))
