"""Host names in normal form: lower case, in ASCII as browsers send them, without port or final dot.

International names are mapped by UTS #46, non-transitional. Python's codec `idna` follows the older IDNA 2003, by
which `straße.example` is the other domain `strasse.example`.
"""

import re
from functools import lru_cache

import idna

MAX_HOST = 253
MAX_HEADER = MAX_HOST + 10  # with a port and white space
HOST_RULE = "Must be a host name such as news.example, without scheme, port and path."
HOST_PATTERN = r"^[^\s/:?#@]+$"  # for schemas; includes names in other scripts
match_host = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*").fullmatch
PUNYCODE = "xn--"  # begins a label in another script
JOINERS = "\u200c\u200d"  # allowed only where they make a difference
PORT = re.compile(r":\d{0,5}$")  # may be empty (RFC 9110, section 7.2)


def parse_host(text: str) -> str:
    """Return a host name in normal form. Raises ValueError."""
    if len(text) > MAX_HOST + 1:
        raise ValueError(HOST_RULE)
    try:
        name = map_name(text)
        if not text.isascii():
            name = ".".join(map(label_to_ascii, name.split(".")))
    except ValueError:
        raise ValueError(HOST_RULE) from None
    name = name.removesuffix(".")
    if len(name) > MAX_HOST or not match_host(name):
        raise ValueError(HOST_RULE)
    return name


def map_name(name: str) -> str:
    """Return a name in lower case and its common form, still in its own script. Raises ValueError."""
    return idna.uts46_remap(name, std3_rules=False)


def label_to_ascii(label: str) -> str:
    """Return a label of a mapped name in ASCII. Raises ValueError if browsers refuse it."""
    if label.isascii() and not label.startswith(PUNYCODE):
        return label
    text = label.removeprefix(PUNYCODE).encode("ascii").decode("punycode") if label.startswith(PUNYCODE) else label
    idna.check_initial_combiner(text)
    idna.check_bidi(text)
    for index, character in enumerate(text):
        if character in JOINERS and not idna.valid_contextj(text, index):
            raise ValueError(label)
    if map_name(text) != text:
        raise ValueError(label)
    return encode_label(text)


def encode_label(label: str) -> str:
    """Return a label of a mapped name in ASCII."""
    return label if label.isascii() else f"{PUNYCODE}{label.encode('punycode').decode('ascii')}"


def host_of_header(value: str) -> str | None:
    """Return the host name in a Host header, or None if it is not valid."""
    return cached_host_of_header(value) if len(value) <= MAX_HEADER else None


@lru_cache(maxsize=10_000)
def cached_host_of_header(value: str) -> str | None:
    try:
        return parse_host(PORT.sub("", value.strip()))
    except ValueError:
        return None
