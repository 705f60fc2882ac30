"""The page that a URL names: host, normal path and query parameters.

Scheme, port, the order of parameters and additional parameters are ignored. kit.values.urls compares whole URLs
according to RFC 3986 instead.
"""

import re
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from itertools import product
from urllib.parse import quote, unquote_plus, urlsplit

from msgspec import Struct

from kit.values.paths import PATH_CHARACTERS, normalize_path, read, read_once, until_nul
from kit.values.same_page import SamePage
from kit.values.urls import host_of_url, normalise

HALF = 8  # bytes of a key for the page, and again for a parameter
NO_PARAMETER = bytes(HALF)
MAX_PARAMETERS = 1_000  # per request; applications ignore more
MAX_KEYS = 2_000  # per request
MAX_PLAIN_PARAMETERS = 10
PLAIN_PAIR = r"[A-Za-z0-9_~-]*(?:=[A-Za-z0-9._~=-]*)?"
IS_PLAIN = re.compile(f"{PLAIN_PAIR}(?:&{PLAIN_PAIR})*").fullmatch  # a query with one reading
ARRAY = re.compile(r"\[[^\]]*\]$")
END = re.compile("#|%23")  # of the query, for some applications
UNDERLINED = re.compile(r"[ .\[]")  # in names, PHP reads `_` instead

Parameters = frozenset[tuple[str, str]]  # names and values


class RegisteredPage(Struct, frozen=True):
    """The page of a registered item. A request must have its `parameters` and may have others."""

    host: str
    path: str
    parameters: Parameters

    @classmethod
    def from_url(cls, url: str, same: SamePage | None) -> "RegisteredPage":
        """Parse an http(s) URL; `same` is the setting SAME_PAGE."""
        parts = urlsplit(url)
        path, parameters = normalize_path(parts.path), frozenset(pairs_of(parts.query))
        if same is not None:
            path, parameters = same.path(path), frozenset(pair for pair in parameters if same.counts(pair[0]))
        return cls(host_of_url(parts), path, parameters)

    @property
    def keys(self) -> list[bytes]:
        """Return the keys that find this page, one per parameter; any of them matches."""
        page = page_digest(self.host, self.path)
        return [page + parameter_digest(pair) for pair in sorted(self.parameters)] or [page + NO_PARAMETER]


class RequestedPages(Struct, frozen=True):
    """The pages that a requested URL may name, because origins read URLs differently.

    `paths` starts with the usual reading, in the form by which items are found. `readings` has each path as it is read
    and its further spellings under SAME_PAGE; the last one is in `paths`. `parameters` are all that some application
    may see, `sure_parameters` those that every application sees, `spelling` is the normalised URL. Not `is_complete`
    if there are too many readings to follow.
    """

    host: str
    paths: tuple[str, ...]
    readings: tuple[tuple[str, ...], ...]
    parameters: Parameters
    spelling: str
    is_complete: bool
    address: str  # the https URL of the usual reading, without port and query
    sure_parameters: Parameters

    @classmethod
    def from_url(cls, url: str, same: SamePage | None) -> "RequestedPages":
        """Parse an absolute http(s) URL; `same` is the setting SAME_PAGE."""
        parts = urlsplit(url)
        read_as, is_complete = read(parts.path)
        readings = tuple((path,) if same is None else same.spellings(path) for path in read_as)
        paths = tuple(dict.fromkeys(spellings[-1] for spellings in readings))
        parameters: Parameters = frozenset()
        sure: Parameters = frozenset()
        if parts.query.count("&") + parts.query.count(";") < MAX_PARAMETERS:
            parameters = frozenset(read_query(parts.query))
            sure = sure_of(parts.query, parameters)
        else:
            is_complete = False
        is_complete = is_complete and len(paths) * (1 + len(parameters)) <= MAX_KEYS
        host = host_of_url(parts)
        address = f"https://{host}{quote(paths[0], safe=PATH_CHARACTERS)}"
        return cls(host, paths, readings, parameters, spelling_of(url, same), is_complete, address, sure)

    @property
    def pages(self) -> list[bytes]:
        """Return the first half of the keys, one per path."""
        return [page_digest(self.host, path) for path in self.paths]

    @property
    def keys(self) -> list[bytes]:
        """Return every key under which a matching item may be registered."""
        parameters = [NO_PARAMETER, *map(parameter_digest, self.parameters)]
        return [page + parameter for page, parameter in product(self.pages, parameters)]


def has_one_reading(url: str) -> bool:
    """Whether every origin reads the path in the same way, and the query with at most MAX_PLAIN_PARAMETERS."""
    parts = urlsplit(url)
    is_short = parts.query.count("&") < MAX_PLAIN_PARAMETERS
    return is_short and IS_PLAIN(parts.query) is not None and read_once(parts.path) is not None


def with_https(url: str) -> str:
    """Return the form that pages are recorded in. Also takes the beginning of a URL."""
    return f"https:{url.removeprefix('http:')}" if url.startswith("http:") else url


def both_schemes(url: str) -> set[str]:
    """Return the URL, or its beginning, with https and with http."""
    form = with_https(url)
    return {form, f"http:{form.removeprefix('https:')}"} if form.startswith("https:") else {url}


def page_digest(host: str, path: str) -> bytes:
    return blake2b(f"{host}{path}".encode(), digest_size=HALF).digest()


def parameter_digest(pair: tuple[str, str]) -> bytes:
    return blake2b("=".join(pair).encode(), digest_size=HALF).digest()


def spelling_of(url: str, same: SamePage | None) -> str:
    """Return the URL in normal form, without scheme and port."""
    form = normalise(url)
    if same is not None:
        form = same.form(form)
    _, _, rest = form.partition("://")
    netloc, slash, target = rest.partition("/")
    return re.sub(r":\d+$", "", netloc) + slash + target


# --- Queries ---------------------------------------------------------------------------------------------------------


def pairs_of(query: str) -> Iterator[tuple[str, str]]:
    """Yield the parameters as most applications parse them."""
    for piece in query.split("&"):
        if piece:
            name, _, value = piece.partition("=")
            yield unquote_plus(name), unquote_plus(value)


def read_query(query: str) -> Iterator[tuple[str, str]]:
    """Yield every parameter that some application may see:

    `;` may separate them, `#` end them, and PHP and Node parse names in their own ways.
    """
    yield from pairs_of(query)
    if IS_PLAIN(query):
        return
    for piece in {*query.split("&"), *re.split("[&;]", query)}:
        yield from readings(piece)


def readings(piece: str) -> Iterator[tuple[str, str]]:
    """Yield the parameters that applications may read a part of a query as."""
    for text in {piece, END.split(piece, maxsplit=1)[0]} - {""}:
        name, _, value = text.partition("=")
        for one_name, one_value in product(decodings(name), decodings(value)):
            short = ARRAY.sub("", until_nul(one_name).strip())
            yield from ((form, one_value) for form in {one_name, short, UNDERLINED.sub("_", short)})


def sure_of(query: str, parameters: Parameters) -> Parameters:
    """Return the parameters that every application sees: spelled in a way that has one reading, with one value."""
    values = Counter(name for name, _ in parameters)
    if IS_PLAIN(query):
        return frozenset(pair for pair in parameters if values[pair[0]] == 1)
    *sure, last = END.split(query, maxsplit=1)[0].split("&")
    if END.search(query) is None:
        sure.append(last)
    only = [found for piece in sure if ";" not in piece and len(found := set(readings(piece))) == 1]
    return frozenset(pair for found in only for pair in found if values[pair[0]] == 1)


def decodings(text: str) -> tuple[str, ...]:
    """Return the text decoded once and, if that differs, twice."""
    once = unquote_plus(text)
    return (once,) if "%" not in once else (once, unquote_plus(once))
