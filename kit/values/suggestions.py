"""Parts of error messages: given values as they are shown, and suggestions for misspelled names."""

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache

MAX_SHOWN = 100  # characters of a given value
MAX_TEXT = 100  # characters; longer texts get no suggestion
MAX_NAMES = 500
SIMILARITY = 0.7  # of 1; "titel" and "title" have 0.8
MAX_SUGGESTIONS = 5  # per object, because each costs up to a millisecond


def shown(value: object) -> str:
    """Return a scalar as JSON, cut to MAX_SHOWN characters; for other values, the name of their type."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return json.dumps(value[:MAX_SHOWN] if isinstance(value, str) else value, ensure_ascii=False, default=str)


def such_as(example: object) -> str:
    """Return ` such as {"amount": 5}`, to follow the name of a type; empty without an example."""
    return f" such as {json.dumps(example, ensure_ascii=False)}" if example else ""


def nearest_names(text: object, names: Iterable[str]) -> str | None:
    """Return the name most similar to the text, ignoring case; None if there is none.

    `names` must be public, such as fields, values or paths of the API, because anybody may see the suggestion. Takes
    about 0.3 ms for 20 names; texts longer than MAX_TEXT are not compared.
    """
    if not isinstance(text, str) or not 0 < len(text) <= MAX_TEXT:
        return None
    return nearest_name(text, tuple(names)[:MAX_NAMES])


@lru_cache(maxsize=1_000)
def nearest_name(text: str, names: tuple[str, ...]) -> str | None:
    by_lower_case = {name.lower(): name for name in reversed(names)}
    matches = get_close_matches(text.lower(), by_lower_case, n=1, cutoff=SIMILARITY)
    return by_lower_case[matches[0]] if matches else None


def did_you_mean(text: object, names: Iterable[str]) -> str:
    """Return " Did you mean `title`?" to append to a message; empty if no name is similar."""
    name = nearest_names(text, names)
    return "" if name is None else f" Did you mean `{name}`?"


def field_hints(unknown: Iterable[str], fields: Iterable[str]) -> dict[str, str]:
    """Return a hint to append to the message of each unknown field.

    The first MAX_SUGGESTIONS suggest a similar field. The first one without a similar field lists all fields.
    """
    names = list(fields)
    hints = {}
    listed = False
    for index, name in enumerate(unknown):
        hints[name] = did_you_mean(name, names) if index < MAX_SUGGESTIONS else ""
        if not hints[name] and names and not listed:
            hints[name] = f" Fields: {', '.join(names)}."
            listed = True
    return hints
