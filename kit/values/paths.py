"""A page's path in normal form, and the other paths that an origin may read it as.

Origins differ. nginx and Caddy decode a path once; Tomcat drops path parameters (`;x`) first; Node keeps empty
segments when it resolves `..`; an application behind `proxy_pass http://origin$uri` decodes twice. Each of STEPS is
what some origin does, and `read` applies them in every order.
"""

import re
from collections.abc import Callable, Iterable
from urllib.parse import unquote

PATH_CHARACTERS = "/!$&'()*+,;=:@~"  # characters that are not percent-encoded
MAX_TEXTS = 32  # limit of intermediate readings; browsers send paths with fewer than ten
MAX_DEPTH = 8  # limit of repeated decoding
MAX_LENGTH = 2048  # limit of an ambiguous path, as for an item's source and a pattern
SLASHES = re.compile(r"[/\\]+")
# Without these characters, a decoded path has only one reading.
AMBIGUOUS = re.compile(r"[%;\\?#\x00-\x1f\x7f\ufffd]")
CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
PARAMETERS = re.compile(r";[^/]*")
ENDS = re.compile(r"[?#]|%3f|%23", re.IGNORECASE)  # these end the path if a proxy forwards it decoded
DOT = re.compile("%2e", re.IGNORECASE)
# An ASCII character encoded in two, three or four bytes of UTF-8, which lenient decoders accept.
OVERLONG = re.compile(r"(?:%c|%e0%8|%f0%80%8)([01])%([89ab])([0-9a-f])", re.IGNORECASE)

Step = Callable[[str], str]


def usual_path(path: str) -> str:
    r"""Return the path as most origins read it, without its query.

    Decodes once, turns `\` and repeated `/` into one `/`, and resolves dot segments. Stricter than RFC 3986, which
    distinguishes `/a%2Fb` and `//a` from `/a/b` and `/a`, because file servers decode before they look up a file.
    """
    return usual(path.partition("?")[0].partition("#")[0])


def usual(path: str) -> str:
    return resolve(slashes(decode(path)))


def read_once(path: str) -> str | None:
    """Return the normal path if every origin reads it the same way, otherwise None."""
    text = decode(path)
    if AMBIGUOUS.search(text) or (".." in text and (text != path or "//" in text)):
        return None
    return resolve(text)


def read(path: str) -> tuple[tuple[str, ...], bool]:
    """Return the paths that origins may read this one as, the usual first, and whether the list is complete."""
    only = read_once(path)
    if only is not None:
        return (only,), True
    if len(path) > MAX_LENGTH:
        return (usual(path), resolve(simplify(path))), False
    encoded = follow([path], STEPS)
    decoded = follow(map(decode, encoded), (decode, *STEPS))
    is_complete = len(encoded) <= MAX_TEXTS and len(decoded) <= MAX_TEXTS
    readings = [usual(path), resolve(simplify(path)), *map(resolve, decoded)]
    return tuple(dict.fromkeys(readings)), is_complete


def follow(texts: Iterable[str], steps: Iterable[Step]) -> list[str]:
    """Apply the steps to the texts in every order and return all results; stops after MAX_TEXTS."""
    steps = tuple(steps)
    reached = dict.fromkeys(texts)
    waiting = list(reached)
    for text in waiting:
        for step in steps:
            next_text = step(text)
            if next_text not in reached:
                reached[next_text] = None
                waiting.append(next_text)
                if len(waiting) > MAX_TEXTS:
                    return waiting
    return waiting


def simplify(path: str) -> str:
    """Return the path as the most lenient origin reads it: decoded repeatedly, without parameters and control
    characters.
    """
    text = path
    for _ in range(MAX_DEPTH):
        text = without_controls(decode(shorten(text)))
    return without_parameters(slashes(text))


# --- What origins do -------------------------------------------------------------------------------------------------


def decode(text: str) -> str:
    return unquote(text, errors="replace") if "%" in text else text


def decode_dots(text: str) -> str:
    return DOT.sub(".", text) if "%" in text else text


def resolve(text: str) -> str:
    """Merge slashes and resolve dot segments; a final `/`, `.` or `..` marks a folder."""
    if text.startswith("/") and "//" not in text and "/." not in text:
        return text
    return join_segments(text.split("/"), ("", "."))


def resolve_unmerged(text: str) -> str:
    """Resolve dot segments without merging slashes: `..` removes an empty segment."""
    return join_segments(text.removeprefix("/").split("/"), (".",)) if ".." in text and "//" in text else text


def join_segments(segments: list[str], without: tuple[str, ...]) -> str:
    remaining: list[str] = []
    for segment in segments:
        if segment == "..":
            del remaining[-1:]
        elif segment not in without:
            remaining.append(segment)
    is_folder = bool(remaining) and segments[-1] in ("", ".", "..") and remaining[-1] != ""
    return "/" + "/".join(remaining) + ("/" if is_folder else "")


def slashes(text: str) -> str:
    return text.replace("\\", "/")


def without_parameters(text: str) -> str:
    return PARAMETERS.sub("", text) if ";" in text else text


def without_controls(text: str) -> str:
    return CONTROLS.sub("", text)


def until_nul(text: str) -> str:
    return text.partition("\0")[0]


def until_first_end(text: str) -> str:
    return ENDS.split(text, maxsplit=1)[0]


def until_last_end(text: str) -> str:
    ends = [match.start() for match in ENDS.finditer(text)]
    return text[: ends[-1]] if ends else text


def shorten(text: str) -> str:
    """Replace overlong UTF-8 sequences by the characters they encode."""
    return OVERLONG.sub(shorten_match, text) if "%" in text else text


def shorten_match(match: re.Match[str]) -> str:
    high, middle, low = match.groups()
    return chr(int(high) << 6 | (int(middle, 16) & 3) << 4 | int(low, 16))


STEPS: tuple[Step, ...] = (
    decode_dots, without_parameters, slashes, resolve, resolve_unmerged, shorten, without_controls, until_nul,
    until_first_end, until_last_end,
)  # fmt: skip
