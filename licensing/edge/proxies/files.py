"""Writes the file of a site's proxy from the one in deploy/edge: with its host, and the pages that stay open."""

from collections.abc import Callable, Sequence
from itertools import groupby

from django.conf import settings
from msgspec import Struct

from licensing.edge.proxies.open_pages import ASSET_FOLDERS, Entry, OpenPages, open_pages
from licensing.sites.models import Site

HOST = "pub.example"
FOLDERS = f"({'|'.join(ASSET_FOLDERS)})"
NO_FOLDER = "assets-open-to-everybody"  # where each of the usual folders has restricted pages
NOT_POSSIBLE = "This proxy cannot keep pages open while the service is down."
FILTER = '{"@type": type.googleapis.com/envoy.config.route.v3.FilterConfig'


class ProxyFile(Struct, frozen=True):
    """`open_patterns` stay open while the service is down. `omitted` would be open, too, but for the given reason."""

    proxy: str
    name: str
    content: str
    open_patterns: Sequence[str]
    omitted: Sequence[tuple[str, str]]


def nginx(entries: Sequence[Entry]) -> list[str]:
    """Return lines of the map of $access_undecided, of which the first that matches counts."""
    return [
        rf'    "~^50[24] {one.expression}(\?|$)" open;' if one.is_open else f'    "~*^50[24] {one.expression}" closed;'
        for one in entries
    ]


def caddy(entries: Sequence[Entry]) -> list[str]:
    """Return a block whose expression takes the first group of entries that matches."""
    choice = "false"
    for is_open, group in reversed([(key, list(of_it)) for key, of_it in groupby(entries, lambda one: one.is_open)]):
        either = "|".join(one.expression for one in group)
        whole = rf"^({either})(\\?|$)" if is_open else f"(?i)^({either})"
        choice = f'({{http.request.orig_uri}}.matches("{whole}") ? {str(is_open).lower()} : {choice})'
    lines = ["handle_errors 502 504 {", f"\t@open `{choice}`", "\troute @open {", "\t\timport origin", "\t}", "}"]
    return [f"\t{line}" for line in lines]


def envoy(entries: Sequence[Entry]) -> list[str]:
    """Return routes, of which the first match counts. Routes of closed pages ask the service, like all others."""
    lines = []
    for one in entries:
        expression = one.expression if one.is_open else f"(?i){one.expression}.*"
        lines += [f"- match: {{safe_regex: {{regex: '{expression}'}}}}", "  route: {cluster: origin}"]
        if one.is_open:
            lines += [
                "  typed_per_filter_config:",
                f"    licensing: {FILTER}, disabled: true}}",
                f"    licensing-or-open: {FILTER}, config: {{}}}}",
            ]
    return [" " * 24 + line for line in lines]


class Kind(Struct, frozen=True):
    """A proxy: its file, and how to write the lines in place of the example of pages that stay open.

    `service`, `origin` and `key` are the texts in the file that publishers replace. `example` begins the example,
    which has `length` lines.
    """

    label: str
    file: str
    service: str
    origin: str
    key: str = "svc_sk_PUT-THE-KEY-HERE"
    write: Callable[[Sequence[Entry]], list[str]] | None = None
    example: str = ""
    length: int = 0


KINDS = {
    "nginx": Kind(
        *("nginx", "nginx.conf", "127.0.0.1:8000", "127.0.0.1:8080"),
        write=nginx,
        example='# "~^50[24] ',
        length=1,
    ),
    "caddy": Kind(
        *("Caddy", "Caddyfile", "licensing:8000", "origin:8080", "{env.LICENSING_KEY}"),
        write=caddy,
        example="# handle_errors 502 504 {",
        length=6,
    ),
    "traefik": Kind("Traefik", "traefik.yml", "licensing:8000", "origin:8080"),
    "envoy": Kind(
        *("Envoy", "envoy.yaml", "address: licensing, port_value: 8000", "address: origin, port_value: 8080"),
        write=envoy,
        example="# - match: {safe_regex",
        length=5,
    ),
}


def proxy_file(site: Site, proxy: str) -> ProxyFile:
    """Return the file for one of KINDS. It has a placeholder for the key, and names the service and the origin as the
    file in deploy/edge does.
    """
    kind, pages = KINDS[proxy], open_pages(site)
    text = (settings.BASE_DIR / "deploy" / "edge" / kind.file).read_text()
    text = with_folders(text.replace(HOST, site.host), pages)
    if kind.write is None:
        unnamed = [(pattern, NOT_POSSIBLE) for pattern in pages.patterns]
        return ProxyFile(proxy, kind.file, text, (), [*unnamed, *pages.omitted])
    if pages.patterns:
        text = with_lines(text, kind, kind.write(pages.entries))
    return ProxyFile(proxy, kind.file, text, pages.patterns, pages.omitted)


def with_folders(text: str, pages: OpenPages) -> str:
    return text.replace(FOLDERS, f"({'|'.join(pages.asset_folders) or NO_FOLDER})")


def with_lines(text: str, kind: Kind, lines: Sequence[str]) -> str:
    """Replace the example in the text by the lines."""
    given = text.split("\n")
    [at] = [number for number, line in enumerate(given) if line.strip().startswith(kind.example)]
    return "\n".join([*given[:at], *lines, *given[at + kind.length :]])
