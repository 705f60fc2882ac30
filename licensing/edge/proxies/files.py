"""Writes the file of a site's proxy from the one in deploy/edge: with its host, and the pages that stay open."""

from collections.abc import Callable, Sequence
from itertools import groupby

from django.conf import settings
from msgspec import Struct

from licensing.edge.proxies.open_pages import ASSET_FOLDERS, OpenPages, open_pages
from licensing.edge.proxies.paths import naming
from licensing.edge.publishing.documents import DOCUMENTS
from licensing.sites.models import Site

HOST = "pub.example"
FOLDERS = f"({'|'.join(ASSET_FOLDERS)})"
NO_FOLDER = "assets-open-to-everybody"  # where each of the usual folders has restricted pages
NOT_POSSIBLE = "This proxy cannot keep pages open while the service is down."
TERMS = [path for path in DOCUMENTS if path != "/robots.txt"]  # robots.txt is the site's own
FILTER = '{"@type": type.googleapis.com/envoy.config.route.v3.FilterConfig'


class ProxyFile(Struct, frozen=True):
    """`open_patterns` stay open while the service is down. `omitted` would be open, too, but for the given reason."""

    proxy: str
    name: str
    content: str
    open_patterns: Sequence[str]
    omitted: Sequence[tuple[str, str]]


def nginx_crawlers(pages: OpenPages) -> list[str]:
    """Return lines of the map of $access_crawler."""
    return [f'    "~*{naming([token])}" crawler;' for token in pages.refused_crawlers]


def nginx(pages: OpenPages) -> list[str]:
    """Return lines of the map of $access_undecided, of which the first that matches counts."""
    return [
        rf'    "~^50[234] {one.expression}(\?|$)" open;'
        if one.is_open
        else f'    "~*^50[234] {one.expression}" closed;'
        for one in pages.entries
    ]


def caddy(pages: OpenPages) -> list[str]:
    """Return a matcher whose expression takes the first group of entries that matches."""
    choice = "false"
    groups = [(is_open, list(group)) for is_open, group in groupby(pages.entries, lambda one: one.is_open)]
    for is_open, group in reversed(groups):
        either = "|".join(one.expression for one in group)
        whole = rf"^({either})(\\?|$)" if is_open else f"(?i)^({either})"
        choice = f'({{http.request.orig_uri}}.matches("{whole}") ? {str(is_open).lower()} : {choice})'
    matcher = ["@open {", f"\texpression `{choice}`", f"\tnot path {' '.join(TERMS)}"]
    if pages.refused_crawlers:
        matcher.append(f"\tnot header_regexp User-Agent (?i){naming(pages.refused_crawlers)}")
    return [f"\t\t{line}" for line in (*matcher, "}", "route @open {", "\timport origin", "}")]


def envoy(pages: OpenPages) -> list[str]:
    """Return routes, of which the first match counts. Routes of closed pages ask the service, like all others."""
    lines: list[str] = []
    for one in pages.entries:
        expression = one.expression if one.is_open else f"(?i){one.expression}.*"
        visitors = envoy_visitors(pages.refused_crawlers, lines) if one.is_open else ""
        lines += [f"- match: {{safe_regex: {{regex: '{expression}'}}{visitors}}}", "  route: {cluster: origin}"]
        if one.is_open:
            lines += [
                "  typed_per_filter_config:",
                f"    licensing: {FILTER}, disabled: true}}",
                f"    licensing-or-open: {FILTER}, config: {{}}}}",
            ]
    return [" " * 24 + line for line in lines]


def envoy_visitors(refused: Sequence[str], lines: Sequence[str]) -> str:
    """Return the condition of an open route on visitors, in full for the first one."""
    if not refused or any("&people" in line for line in lines):
        return ", headers: *people" if refused else ""
    named = f"name: user-agent, string_match: {{safe_regex: {{regex: '(?i).*{naming(refused)}.*'}}}}"
    return f", headers: &people [{{{named}, invert_match: true, treat_missing_header_as_empty: true}}]"


class Example(Struct, frozen=True):
    """An example in a file: the beginning of its first line, its length in lines, and what writes the site's lines."""

    start: str
    length: int
    write: Callable[[OpenPages], list[str]]


class Kind(Struct, frozen=True):
    """A proxy: its file, and the examples in it of pages that stay open.

    `service`, `origin` and `key` are the texts in the file that publishers replace.
    """

    label: str
    file: str
    service: str
    origin: str
    key: str = "svc_sk_PUT-THE-KEY-HERE"
    examples: Sequence[Example] = ()


KINDS = {
    "nginx": Kind(
        *("nginx", "nginx.conf", "127.0.0.1:8000", "127.0.0.1:8080"),
        examples=[Example('# "~*', 1, nginx_crawlers), Example('# "~^50[234] ', 1, nginx)],
    ),
    "caddy": Kind(
        *("Caddy", "Caddyfile", "licensing:8000", "origin:8080", "{env.LICENSING_KEY}"),
        examples=[Example("# @open {", 7, caddy)],
    ),
    "traefik": Kind("Traefik", "traefik.yml", "licensing:8000", "origin:8080"),
    "envoy": Kind(
        *("Envoy", "envoy.yaml", "address: licensing, port_value: 8000", "address: origin, port_value: 8080"),
        examples=[Example("# - match: {safe_regex", 5, envoy)],
    ),
}


def proxy_file(site: Site, proxy: str) -> ProxyFile:
    """Return the file for one of KINDS. It has a placeholder for the key, and names the service and the origin as the
    file in deploy/edge does.
    """
    kind, pages = KINDS[proxy], open_pages(site)
    text = (settings.BASE_DIR / "deploy" / "edge" / kind.file).read_text()
    text = with_folders(with_hosts(text, site.hosts).replace(HOST, site.host), pages)
    if not kind.examples:
        unnamed = [(pattern, NOT_POSSIBLE) for pattern in pages.patterns]
        return ProxyFile(proxy, kind.file, text, (), [*unnamed, *pages.omitted])
    if pages.patterns:
        for example in kind.examples:
            text = with_lines(text, example, example.write(pages))
    return ProxyFile(proxy, kind.file, text, pages.patterns, pages.omitted)


def with_hosts(text: str, hosts: Sequence[str]) -> str:
    """Add the aliases to the names that the proxy serves."""
    rules = " || ".join(f"Host(`{host}`)" for host in hosts)
    names = {
        f"server_name {HOST};": f"server_name {' '.join(hosts)};",
        f"\n{HOST} {{": f"\n{', '.join(hosts)} {{",
        f"domains: [{HOST}]": f"domains: [{', '.join(hosts)}]",
        f"Host(`{HOST}`)": rules if len(hosts) == 1 else f"({rules})",
    }
    for name, replacement in names.items():
        text = text.replace(name, replacement)
    return text


def with_folders(text: str, pages: OpenPages) -> str:
    return text.replace(FOLDERS, f"({'|'.join(pages.asset_folders) or NO_FOLDER})")


def with_lines(text: str, example: Example, lines: Sequence[str]) -> str:
    """Replace the example in the text by the lines."""
    given = text.split("\n")
    [at] = [number for number, line in enumerate(given) if line.strip().startswith(example.start)]
    return "\n".join([*given[:at], *lines, *given[at + example.length :]])
