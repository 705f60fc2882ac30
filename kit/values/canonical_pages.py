"""The page that a URL names: host, normal path and query parameters.

Scheme, port, the order of parameters and additional parameters are ignored. kit.values.urls compares whole URLs
according to RFC 3986 instead.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import product, takewhile
from typing import NamedTuple
from urllib.parse import quote, unquote_plus, urlsplit

from msgspec import Struct
from msgspec.structs import replace

from kit.values.paths import PATH_CHARACTERS, read, read_once, until_nul, usual_path
from kit.values.same_page_setting import SamePage
from kit.values.urls import host_of_url, normalise

HALF = 8  # bytes of a key for the page, and again for a parameter
NO_PARAMETER = bytes(HALF)
MAX_PARAMETERS = 1_000  # per request; applications ignore more
MAX_KEYS = 2_000  # per request
MAX_READINGS = 2_000  # of the parameters of a request
MAX_PLAIN_PARAMETERS = 10
PLAIN_PAIR = r"[A-Za-z0-9_~-]*(?:=[A-Za-z0-9._~=-]*)?"
match_plain_query = re.compile(f"{PLAIN_PAIR}(?:&{PLAIN_PAIR})*").fullmatch  # a query with one reading
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
        path = usual_path(parts.path)
        parameters = frozenset(query_pairs(parts.query))
        if same is not None:
            path = same.path(path)
            parameters = frozenset(pair for pair in parameters if same.counts(pair[0]))
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
    further_hosts: tuple[str, ...] = ()  # that have the same pages

    @classmethod
    def from_url(cls, url: str, same: SamePage | None) -> "RequestedPages":
        """Parse an absolute http(s) URL; `same` is the setting SAME_PAGE."""
        parts = urlsplit(url)
        read_as, is_complete = read(parts.path)
        readings = tuple((path,) if same is None else same.spellings(path) for path in read_as)
        paths = tuple(dict.fromkeys(spellings[-1] for spellings in readings))
        query = read_query(parts.query)
        is_complete = is_complete and query.is_complete and len(paths) * (1 + len(query.parameters)) <= MAX_KEYS
        host = host_of_url(parts)
        address = f"https://{host}{quote(paths[0], safe=PATH_CHARACTERS)}"
        return cls(
            host,
            paths,
            readings,
            query.parameters,
            page_spelling(url, same),
            is_complete,
            address,
            query.sure_parameters,
        )

    def at_hosts(self, hosts: tuple[str, ...]) -> "RequestedPages":
        """Return the pages as those of the first host, and of the others, which have the same pages."""
        host, *further = hosts
        if host == self.host and not further:
            return self
        keys = len(hosts) * len(self.paths) * (1 + len(self.parameters))
        return replace(
            self,
            host=host,
            further_hosts=tuple(further),
            address=f"https://{host}{self.address.removeprefix(f'https://{self.host}')}",
            is_complete=self.is_complete and keys <= MAX_KEYS,
        )

    def is_at(self, host: str) -> bool:
        return host == self.host or host in self.further_hosts

    @property
    def pages(self) -> list[bytes]:
        """Return the first half of the keys, one per host and path."""
        return [page_digest(host, path) for host in (self.host, *self.further_hosts) for path in self.paths]

    @property
    def keys(self) -> list[bytes]:
        """Return every key under which a matching item may be registered."""
        parameters = [NO_PARAMETER, *map(parameter_digest, self.parameters)]
        return [page + parameter for page, parameter in product(self.pages, parameters)]


def has_one_reading(url: str) -> bool:
    """Whether every origin reads the path in the same way, and the query with at most MAX_PLAIN_PARAMETERS."""
    parts = urlsplit(url)
    is_short = parts.query.count("&") < MAX_PLAIN_PARAMETERS
    return is_short and match_plain_query(parts.query) is not None and read_once(parts.path) is not None


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


def page_spelling(url: str, same: SamePage | None) -> str:
    """Return the URL in normal form, without scheme and port."""
    form = normalise(url)
    if same is not None:
        form = same.form(form)
    _, _, host_and_path = form.partition("://")
    netloc, slash, target = host_and_path.partition("/")
    return re.sub(r":\d+$", "", netloc) + slash + target


# --- Queries ---------------------------------------------------------------------------------------------------------


def query_pairs(query: str) -> Iterator[tuple[str, str]]:
    """Yield the parameters as most applications parse them."""
    for piece in query.split("&"):
        if piece:
            name, _, value = piece.partition("=")
            yield unquote_plus(name), unquote_plus(value)


class Query(NamedTuple):
    """The parameters of a query: all that some application may see, and those that every application sees.

    Not `is_complete` if the query has more parameters or readings than are followed.
    """

    parameters: Parameters
    sure_parameters: Parameters
    is_complete: bool


TOO_LONG = Query(frozenset(), frozenset(), False)


def read_query(query: str) -> Query:
    """Read a query as any application may.

    `;` may separate parameters, `#` end the query, and PHP and Node parse names in their own ways.
    """
    if query.count("&") + query.count(";") >= MAX_PARAMETERS:
        return TOO_LONG
    usual = set(query_pairs(query))
    if match_plain_query(query):
        return Query(frozenset(usual), pairs_with_one_value(usual, usual), True)
    pieces = query.split("&")
    read_as: dict[str, set[tuple[str, str]]] = {}
    number = 0
    for piece in {*pieces, *re.split("[&;]", query)}:
        read_as[piece] = readings(piece)
        number += len(read_as[piece])
        if number > MAX_READINGS:
            return TOO_LONG
    parameters = usual.union(*read_as.values())
    sure: set[tuple[str, str]] = set()
    for piece in takewhile(has_no_end, pieces):  # some applications do not see the rest
        if ";" not in piece and len(read_as[piece]) == 1:
            sure |= read_as[piece]
    return Query(frozenset(parameters), pairs_with_one_value(sure, parameters), True)


def has_no_end(piece: str) -> bool:
    return END.search(piece) is None


def readings(piece: str) -> set[tuple[str, str]]:
    """Return the parameters that applications may read a part of a query as."""
    pairs = set()
    for text in {piece, END.split(piece, maxsplit=1)[0]} - {""}:
        name, _, value = text.partition("=")
        for one_name, one_value in product(decodings(name), decodings(value)):
            short = without_index(until_nul(one_name).strip())
            pairs |= {(form, one_value) for form in (one_name, short, UNDERLINED.sub("_", short))}
    return pairs


def without_index(name: str) -> str:
    """Return the name without an index at its end, as PHP reads `id[5]`."""
    if not name.endswith("]"):
        return name
    begin = name.find("[", name.rfind("]", 0, -1) + 1)
    return name if begin < 0 else name[:begin]


def pairs_with_one_value(pairs: Iterable[tuple[str, str]], parameters: Iterable[tuple[str, str]]) -> Parameters:
    """Return the pairs whose name has a single value among the parameters."""
    values = Counter(name for name, _ in parameters)
    return frozenset(pair for pair in pairs if values[pair[0]] == 1)


def decodings(text: str) -> tuple[str, ...]:
    """Return the text decoded once and, if that differs, twice."""
    decoded = unquote_plus(text)
    return (decoded,) if "%" not in decoded else (decoded, unquote_plus(decoded))
