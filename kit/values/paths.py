"""The path of a page in normal form, and the other paths that an origin may read the same spelling as.

Origins differ. nginx and Caddy decode a path once; Tomcat drops path parameters (`;x`) first; Node keeps empty
segments when it resolves `..`; an application behind `proxy_pass http://origin$uri` decodes twice. Each of STEPS is
what some origin does, and `read` takes them in every order.
"""

import re
from collections.abc import Callable, Iterable
from urllib.parse import unquote

MAX_TEXTS = 32  # on the way to the readings; what a browser sends has fewer than ten
MAX_DEPTH = 8  # times that a path is decoded
MAX_LENGTH = 2048  # of an ambiguous path, as of an item's source and of a pattern
SLASHES = re.compile(r"[/\\]+")
# A decoded path without any of these is read in one way.
AMBIGUOUS = re.compile(r"[%;\\?#\x00-\x1f\x7f\ufffd]")
CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
PARAMETERS = re.compile(r";[^/]*")
ENDS = re.compile(r"[?#]|%3f|%23", re.IGNORECASE)  # end the path where a proxy passes it on decoded
DOT = re.compile("%2e", re.IGNORECASE)
# An ASCII character in two, three or four bytes of UTF-8, which lenient decoders accept.
OVERLONG = re.compile(r"(?:%c|%e0%8|%f0%80%8)([01])%([89ab])([0-9a-f])", re.IGNORECASE)

Step = Callable[[str], str]


def normalize_path(path: str) -> str:
    """Return the path as most origins read it, without its query: decoded once, `\\` and repeated `/` as one `/`, dot
    segments resolved.

    Stricter than RFC 3986, under which `/a%2Fb` and `//a` are other pages than `/a/b` and `/a`: file servers decode
    before they look.
    """
    return usual(path.partition("?")[0].partition("#")[0])


def usual(path: str) -> str:
    return resolve(slashes(decode(path)))


def read_once(path: str) -> str | None:
    """Return the normal path if every origin reads it so; None if origins may differ."""
    text = decode(path)
    if AMBIGUOUS.search(text) or (".." in text and (text != path or "//" in text)):
        return None
    return resolve(text)


def read(path: str) -> tuple[tuple[str, ...], bool]:
    """Return the paths that origins may read this one as, the usual one first, and whether these are all."""
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
    """Return the texts and what the steps make of them in any order; stop after MAX_TEXTS."""
    steps = tuple(steps)
    found = dict.fromkeys(texts)
    waiting = list(found)
    for text in waiting:
        for step in steps:
            made = step(text)
            if made not in found:
                found[made] = None
                waiting.append(made)
                if len(waiting) > MAX_TEXTS:
                    return waiting
    return waiting


def simplify(path: str) -> str:
    """Return the path as the most lenient origin reads it: decoded again and again, plain segments only."""
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
    """Merge slashes and resolve dot segments; a final `/`, `.` or `..` names a folder."""
    return joined(text.split("/"), ("", "."))


def resolve_unmerged(text: str) -> str:
    """The same where an empty segment is one that `..` removes."""
    return joined(text.removeprefix("/").split("/"), (".",)) if ".." in text and "//" in text else text


def joined(segments: list[str], without: tuple[str, ...]) -> str:
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment not in without:
            kept.append(segment)
    is_folder = bool(kept) and segments[-1] in ("", ".", "..") and kept[-1] != ""
    return "/" + "/".join(kept) + ("/" if is_folder else "")


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
    ends = [found.start() for found in ENDS.finditer(text)]
    return text[: ends[-1]] if ends else text


def shorten(text: str) -> str:
    """Read an overlong sequence as the character that it stands for."""
    return OVERLONG.sub(shortened, text) if "%" in text else text


def shortened(found: re.Match[str]) -> str:
    high, middle, low = found.groups()
    return chr(int(high) << 6 | (int(middle, 16) & 3) << 4 | int(low, 16))


STEPS: tuple[Step, ...] = (
    decode_dots, without_parameters, slashes, resolve, resolve_unmerged, shorten, without_controls, until_nul,
    until_first_end, until_last_end,
)  # fmt: skip
