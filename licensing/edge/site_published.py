"""Fetches a site's published documents like a crawler and compares them with its policies.

Publishers can enter any host name, so the documents are fetched by the guarded client (kit.outbound): https, public
addresses only, no redirects.
"""

import asyncio
from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import ParseError, canonicalize

import orjson

from kit.outbound.client import Client, Reply, Unreachable
from kit.outbound.destinations import DestinationRefused
from licensing.edge.publishing.documents import write_documents
from licensing.edge.publishing.promises import Promise
from licensing.edge.publishing.publication import Publication
from licensing.edge.publishing.robots_txt import NAMES_IN_SIGNAL, NAMES_IN_USAGE
from licensing.edge.site_lint import Finding, list_uses

RSL, ROBOTS = "/license.xml", "/robots.txt"
SECONDS, MOST_BYTES = 5, 1024 * 1024  # of a fetch
KEYS = "/jwks.json"  # of the licence server
EVERYWHERE = "everywhere"

Fetched = Reply | str  # the reply, or why there is none


async def fetch(url: str) -> Reply:
    headers = {"User-Agent": "content-access-licensing"}
    return await Client().send("GET", url, headers, seconds=SECONDS, most_bytes=MOST_BYTES)


async def fetch_all(urls: Iterable[str]) -> dict[str, Fetched]:
    """Fetch the URLs concurrently and return the replies by URL."""

    async def one(url: str) -> tuple[str, Fetched]:
        try:
            return url, await fetch(url)
        except (DestinationRefused, Unreachable) as error:
            return url, str(error)

    return dict(await asyncio.gather(*map(one, urls)))


async def look_at(publication: Publication) -> list[Finding]:
    """Return findings about the documents at the site's host and the licence server that they name."""
    documents = write_documents(publication)
    own = {f"https://{publication.netloc}{path}": path for path in documents}
    server = [] if publication.server is None else [f"{publication.server}{KEYS}"]
    replies = await fetch_all([*own, *server])
    findings: list[Finding] = []
    for url, reply in replies.items():
        body, problem = body_of(reply)
        if problem:
            findings.append(Finding("warning", "unreachable", f"{url} cannot be read: {problem}"))
        elif own.get(url) == ROBOTS:
            findings += lint_robots(body, publication)
        elif url in own and not is_same(own[url], body, documents[own[url]]):
            message = f"{url} is not what the policies make: the proxy passes on another."
            findings.append(Finding("warning", "differs", message))
    return findings


def body_of(reply: Fetched) -> tuple[bytes, str]:
    """Return the body of a reply, or the problem with it."""
    if isinstance(reply, str):
        return b"", reply
    return (reply.body, "") if reply.status == 200 else (b"", f"it is answered with {reply.status}.")


def is_same(path: str, body: bytes, own: bytes) -> bool:
    """Whether a document is equivalent to ours, ignoring formatting and the licence server's URL."""
    if path != RSL:
        try:
            return bool(orjson.loads(body) == orjson.loads(own))
        except orjson.JSONDecodeError:
            return False
    try:
        texts = [canonicalize(one.decode(), strip_text=True, exclude_attrs=["server"]) for one in (body, own)]
    except (ParseError, UnicodeDecodeError):
        return False
    return texts[0] == texts[1]


def lint_robots(body: bytes, publication: Publication) -> Iterator[Finding]:
    """Check the publisher's robots.txt: it must not permit more than the policies or contradict itself."""
    lines = [line.partition("#")[0].strip() for line in body.decode("utf-8", "replace").splitlines()]
    named = [(name.strip().lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    if not any(name == "license" and value == f"https://{publication.netloc}{RSL}" for name, value in named):
        yield Finding("note", "license_not_named", "robots.txt does not name license.xml (License: …).")
    said = list(statements(named))
    promises = {one.url: one.uses for one in publication.terms}
    everywhere = publication.everywhere
    for path, yes, _ in said:
        extra = yes - promises.get(path, everywhere)
        if extra:
            pattern = "" if path == EVERYWHERE else path
            message = f"robots.txt permits {list_uses(extra)}, which the policies do not promise."
            yield Finding("warning", "laxer_than_policy", message, pattern)
    allowed = frozenset[str]().union(*(yes for path, yes, _ in said if path == EVERYWHERE))
    refused = frozenset[str]().union(*(no for path, _, no in said if path == EVERYWHERE))
    if allowed & refused:
        message = f"robots.txt both permits and refuses {list_uses(allowed & refused)}."
        yield Finding("warning", "contradiction", message)


def statements(named: Iterable[tuple[str, str]]) -> Iterator[tuple[str, Promise, Promise]]:
    """Yield the path of each statement about uses, with the permitted and the refused uses."""
    for name, value in named:
        if name == "content-signal":
            yield EVERYWHERE, *read_uses(value, NAMES_IN_SIGNAL, "yes", "no")
        elif name == "content-usage":
            path, _, rest = value.partition(" ") if value.startswith("/") else (EVERYWHERE, "", value)
            yield path, *read_uses(rest, NAMES_IN_USAGE, "y", "n")


def read_uses(text: str, names: dict[str, str], yes: str, no: str) -> tuple[Promise, Promise]:
    said = {
        name.strip(): value.strip() for name, _, value in (pair.partition("=") for pair in text.lower().split(","))
    }
    return (
        frozenset(use for use in names if said.get(names[use]) == yes),
        frozenset(use for use in names if said.get(names[use]) == no),
    )
