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
from licensing.crawler_classes import NAMES_IN_SIGNAL, NAMES_IN_USAGE
from licensing.edge.publishing.documents import write_documents
from licensing.edge.publishing.promises import Promise
from licensing.edge.publishing.publication import Publication
from licensing.edge.site_lint import Finding, list_uses

RSL, ROBOTS = "/license.xml", "/robots.txt"
SECONDS, MAX_BYTES = 5, 1024 * 1024  # of a fetch
KEYS_PATH = "/jwks.json"  # of the licence server
EVERYWHERE = "everywhere"

Fetched = Reply | str  # the reply, or why there is none


async def fetch(url: str) -> Reply:
    headers = {"User-Agent": "content-access-licensing"}
    return await Client().send("GET", url, headers, seconds=SECONDS, most_bytes=MAX_BYTES)


async def fetch_all(urls: Iterable[str]) -> dict[str, Fetched]:
    """Fetch the URLs concurrently and return the replies by URL."""

    async def fetch_one(url: str) -> tuple[str, Fetched]:
        try:
            return url, await fetch(url)
        except (DestinationRefused, Unreachable) as error:
            return url, str(error)

    return dict(await asyncio.gather(*map(fetch_one, urls)))


async def lint_published(publication: Publication) -> list[Finding]:
    """Return findings about the documents at the site's host and the licence server that they name."""
    documents = write_documents(publication)
    paths_by_url = {f"https://{publication.netloc}{path}": path for path in documents}
    server = [] if publication.server is None else [f"{publication.server}{KEYS_PATH}"]
    replies = await fetch_all([*paths_by_url, *server])
    findings: list[Finding] = []
    for url, reply in replies.items():
        body, problem = read_body(reply)
        if problem:
            findings.append(Finding("warning", "unreachable", f"{url} cannot be read: {problem}"))
        elif paths_by_url.get(url) == ROBOTS:
            findings += lint_robots(body, publication)
        elif url in paths_by_url and not is_same(paths_by_url[url], body, documents[paths_by_url[url]]):
            message = f"{url} is not what the policies make: the proxy passes on another."
            findings.append(Finding("warning", "differs", message))
    return findings


def read_body(reply: Fetched) -> tuple[bytes, str]:
    """Return the body of a reply, or the problem with it."""
    if isinstance(reply, str):
        return b"", reply
    return (reply.body, "") if reply.status == 200 else (b"", f"it is answered with {reply.status}.")


def is_same(path: str, body: bytes, expected: bytes) -> bool:
    """Whether a document is equivalent to ours, ignoring formatting and the licence server's URL."""
    if path != RSL:
        try:
            return bool(orjson.loads(body) == orjson.loads(expected))
        except orjson.JSONDecodeError:
            return False
    try:
        texts = [canonicalize(text.decode(), strip_text=True, exclude_attrs=["server"]) for text in (body, expected)]
    except (ParseError, UnicodeDecodeError):
        return False
    return texts[0] == texts[1]


def lint_robots(body: bytes, publication: Publication) -> Iterator[Finding]:
    """Check the publisher's robots.txt: it must not permit more than the policies or contradict itself."""
    lines = [line.partition("#")[0].strip() for line in body.decode("utf-8", "replace").splitlines()]
    fields = [(name.strip().lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    if not any(name == "license" and value == f"https://{publication.netloc}{RSL}" for name, value in fields):
        yield Finding("note", "license_not_named", "robots.txt does not name license.xml (License: …).")
    stated = list(read_statements(fields))
    promises = {entry.url: entry.uses for entry in publication.terms}
    everywhere = publication.everywhere
    for path, yes, _ in stated:
        extra = yes - promises.get(path, everywhere)
        if extra:
            pattern = "" if path == EVERYWHERE else path
            message = f"robots.txt permits {list_uses(extra)}, which the policies do not promise."
            yield Finding("warning", "laxer_than_policy", message, pattern)
    allowed = frozenset[str]().union(*(yes for path, yes, _ in stated if path == EVERYWHERE))
    refused = frozenset[str]().union(*(no for path, _, no in stated if path == EVERYWHERE))
    if allowed & refused:
        message = f"robots.txt both permits and refuses {list_uses(allowed & refused)}."
        yield Finding("warning", "contradiction", message)


def read_statements(fields: Iterable[tuple[str, str]]) -> Iterator[tuple[str, Promise, Promise]]:
    """Yield the path of each statement about uses, with the permitted and the refused uses."""
    for name, value in fields:
        if name == "content-signal":
            yield EVERYWHERE, *read_uses(value, NAMES_IN_SIGNAL, "yes", "no")
        elif name == "content-usage":
            path, _, rest = value.partition(" ") if value.startswith("/") else (EVERYWHERE, "", value)
            yield path, *read_uses(rest, NAMES_IN_USAGE, "y", "n")


def read_uses(text: str, names: dict[str, str], yes: str, no: str) -> tuple[Promise, Promise]:
    values = {
        name.strip(): value.strip() for name, _, value in (pair.partition("=") for pair in text.lower().split(","))
    }
    return (
        frozenset(use for use in names if values.get(names[use]) == yes),
        frozenset(use for use in names if values.get(names[use]) == no),
    )
