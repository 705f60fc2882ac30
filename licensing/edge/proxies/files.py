"""Writes the file of a site's proxy from the one in deploy/edge.

The file says for each page whether the service is asked, and whether the page stays open while the service is down.
All of that comes from the site's description; the files have no rules of their own.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import blake2b

from django.conf import settings
from msgspec import Struct

from licensing.edge.crawlers import CRAWLERS
from licensing.edge.proxies.accesses import Access
from licensing.edge.proxies.page_access import Description, describe
from licensing.edge.proxies.paths import ASSET_FOLDERS, ESCAPED, naming, quoted
from licensing.sites.models import Site

HOST = "pub.example"
NAME = "pub_example"  # of the site in names that have to differ between files
MAX_NAME = 30  # characters; nginx' hash of variables takes 46 (variables_hash_bucket_size), with `undecided_`
MAX_SERVER_NAME = 46  # characters that nginx' hash of server names takes (server_names_hash_bucket_size)
FOLDERS = f"({'|'.join(ASSET_FOLDERS)})"
NO_FOLDER = "assets-open-to-everybody"  # where each of the usual folders has restricted pages
SENT = (
    "authorization",
    "signature",
    "signature-input",
    "signature-agent",
    "crawler-exact-price",
    "crawler-max-price",
)
# Envoy cannot tell an answer from an outage here. Each answer about such a page is private, too.
PRIVATE_IN_ENVOY = "[{header: {key: cache-control, value: private}, append_action: OVERWRITE_IF_EXISTS_OR_ADD}]"


class ProxyFile(Struct, frozen=True):
    """`open_patterns` stay open while the service is down. `omitted` would be open, too, but for the given reason."""

    name: str
    content: str
    open_patterns: Sequence[str]
    omitted: Sequence[tuple[str, str]]

    @property
    def digest(self) -> str:
        return blake2b(self.content.encode(), digest_size=16).hexdigest()


Write = Callable[[Description], list[str]]


def default(line: str) -> Write:
    """Return the writer of the line of pages that no other line names."""
    return lambda site: [line.format(site.default)]


def pages(line: str, any_case: str) -> Write:
    """Return the writer of the lines of a map from paths with queries to accesses, of which the first match counts."""

    def write(site: Description) -> list[str]:
        lines = []
        for entry in site.entries:
            case, end = ("", r"(\?|$)") if entry.is_whole else (any_case, "")
            lines.append(line.format(case, entry.expression + end, entry.access))
        return lines

    return write


def crawlers(line: str) -> Write:
    """Return a writer of the line that matches known crawlers. The proxy asks the service about them."""
    return lambda site: [line.format(f"({CRAWLERS}|{naming(site.crawlers)})")]


def refused(line: str) -> Write:
    """Return a writer of the line that matches crawlers for whom no page stays open, or of no line."""
    return lambda site: [line.format(naming(site.refused_crawlers))] if site.refused_crawlers else []


def traefik_pages(chosen: Collection[Access], visitors: Callable[[str], Write]) -> Write:
    """Return the writer of the condition on the paths with the chosen access, except for these visitors."""
    except_for = visitors("        && !HeaderRegexp(`User-Agent`, `(?i){}`)")
    return lambda site: [f"        Host(`{HOST}`) && {traefik_paths(site, chosen)}", *except_for(site)]


def traefik_lasting_middlewares(site: Description) -> list[str]:
    """Return the middlewares of these pages. Shared caches keep none of a site that enforces."""
    private = f", private-{NAME}" if site.enforces else ""
    return [f"      middlewares: [licensing-key-{NAME}, licensing-or-open-{NAME}{private}]"]


def traefik_paths(site: Description, chosen: Collection[Access]) -> str:
    """Return the condition on the paths of pages with the chosen access."""
    condition = "PathPrefix(`/`)" if site.default in chosen else "!PathPrefix(`/`)"
    for first, expressions in reversed(site.groups):
        either = "|".join(expressions).replace(ESCAPED, r"[\x{80}-\x{efff}]")  # Traefik compares decoded paths
        whole = f"PathRegexp(`^({either})$`)" if first.is_whole else f"PathRegexp(`(?i)^({either})`)"
        condition = f"({whole} || {condition})" if first.access in chosen else f"(!{whole} && {condition})"
    return condition


def envoy_pages(site: Description) -> list[str]:
    """Return routes, of which the first match counts. Routes without a filter ask the service and close."""
    lines: list[str] = []
    people, others = envoy_people(site), envoy_others(site)
    for entry in site.entries:
        path = f"safe_regex: {{regex: '{entry.expression if entry.is_whole else f'(?i){entry.expression}.*'}'}}"
        if entry.access == Access.OPEN:
            lines += envoy_route(path, f", headers: {people}", "*unasked")
            people = "*people"
        if entry.access == Access.CLOSED:
            lines += envoy_route(path, "", "")
        else:
            lines += envoy_route(path, f", headers: {others}" if others else "", "*ask")
            if site.enforces and entry.access == Access.ASK:
                lines.append(f"{' ' * 24}  response_headers_to_add: {PRIVATE_IN_ENVOY}")
            others = "*others" if others else ""
    return lines


def envoy_default(site: Description) -> list[str]:
    return envoy_route("prefix: /", "", "" if site.default == Access.CLOSED else "*ask")


def envoy_route(path: str, visitors: str, filters: str) -> list[str]:
    lines = [f"- match: {{{path}{visitors}}}", f"  route: {{cluster: origin_{NAME}}}"]
    if filters:
        lines.append(f"  typed_per_filter_config: {filters}")
    return [" " * 24 + line for line in lines]


def envoy_people(site: Description) -> str:
    """Return the conditions of people: they name no crawler, and send nothing to be decided about."""
    absent = ", ".join(f"{{name: {name}, present_match: false}}" for name in SENT)
    return f"&people [{envoy_agent(f'({CRAWLERS}|{naming(site.crawlers)})')}, {absent}]"


def envoy_others(site: Description) -> str:
    """Return the condition of visitors for whom pages stay open; empty if they do for all."""
    return f"&others [{envoy_agent(naming(site.refused_crawlers))}]" if site.refused_crawlers else ""


def envoy_agent(expression: str) -> str:
    named = f"name: user-agent, string_match: {{safe_regex: {{regex: '(?i).*{expression}.*'}}}}"
    return f"{{{named}, invert_match: true, treat_missing_header_as_empty: true}}"


class Example(Struct, frozen=True):
    """Lines of a file: the beginning of the first one, how many there are, and what writes those of the site."""

    start: str
    length: int
    write: Write


class ProxyKind(Struct, frozen=True):
    """A proxy: its file, and the lines in it that are the site's own.

    `service`, `origin` and `key` are the texts in the file that publishers replace.
    """

    label: str
    file: str
    service: str
    origin: str
    examples: Sequence[Example]
    key: str = "svc_sk_PUT-THE-KEY-HERE"


PROXY_KINDS = {
    "nginx": ProxyKind(
        "nginx",
        "nginx.conf",
        "127.0.0.1:8000",
        "127.0.0.1:8080",
        [
            Example("default ask;", 1, default("    default {};")),
            Example("# For example /about", 2, pages('    "~{}^{}" {};', "*")),
            Example(f'"~*{CRAWLERS}" crawler', 1, crawlers('    "~*{}" crawler;')),
            Example('# "~*gptbot', 1, refused('    "~*{}" refused;')),
        ],
    ),
    "caddy": ProxyKind(
        "Caddy",
        "Caddyfile",
        "licensing:8000",
        "origin:8080",
        [
            Example("# For example /about", 2, pages("\t\t~{}^{} {}", "(?i)")),
            Example("default ask", 1, default("\t\tdefault {}")),
            Example("not header_regexp User-Agent (?i)(bot", 1, crawlers("\t\tnot header_regexp User-Agent (?i){}")),
            Example("# not header_regexp User-Agent", 1, refused("\t\t\tnot header_regexp User-Agent (?i){}")),
        ],
        "{env.LICENSING_KEY}",
    ),
    "traefik": ProxyKind(
        "Traefik",
        "traefik.yml",
        "licensing:8000",
        "origin:8080",
        [
            Example(f"Host(`{HOST}`) && PathPrefix(`/`)", 1, traefik_pages([Access.OPEN, Access.ASK], refused)),
            Example("# A site that enforces has private-", 2, traefik_lasting_middlewares),
            Example(f"Host(`{HOST}`) && !PathPrefix(`/`)", 2, traefik_pages([Access.OPEN], crawlers)),
        ],
    ),
    "envoy": ProxyKind(
        "Envoy",
        "envoy.yaml",
        "address: licensing, port_value: 8000",
        "address: origin, port_value: 8080",
        [
            Example("# For example /about", 7, envoy_pages),
            Example("- match: {prefix: /}", 3, envoy_default),
        ],
    ),
}


def proxy_file(site: Site, proxy: str, description: Description | None = None) -> ProxyFile:
    """Return the file for one of PROXY_KINDS, from the site's description if that is known already.

    It has a placeholder for the key, and names the service and the origin as the file in deploy/edge does.
    """
    kind = PROXY_KINDS[proxy]
    description = description or describe(site)
    text = (settings.BASE_DIR / "deploy" / "edge" / kind.file).read_text()
    text = with_own_lines(text, kind.examples, description)
    text = with_hosts(text, site.hosts).replace(HOST, site.host).replace(NAME, name_from_host(site.host))
    text = text.replace(FOLDERS, f"({'|'.join(description.asset_folders) or NO_FOLDER})")
    return ProxyFile(kind.file, text, description.patterns, description.omitted)


def with_hosts(text: str, hosts: Sequence[str]) -> str:
    """Add the aliases to the names that the proxy serves."""
    rules = " || ".join(f"Host(`{host}`)" for host in hosts)
    names = {
        f'"^({quoted(HOST)})$"': f'"^({"|".join(map(quoted, hosts))})$"',
        f"server_name {HOST};": f"server_name {' '.join(map(server_name, hosts))};",
        f"\n{HOST} {{": f"\n{', '.join(hosts)} {{",
        f"domains: [{HOST}]": f"domains: [{', '.join(hosts)}]",
        f"Host(`{HOST}`)": rules if len(hosts) == 1 else f"({rules})",
    }
    for name, replacement in names.items():
        text = text.replace(name, replacement)
    return text


def name_from_host(host: str) -> str:
    """Return a name of letters, digits and underscores that no other host has.

    That of a long host, or of one with an underscore, ends with a digest.
    """
    name = host.replace("-", "__").replace(".", "_")
    if len(name) <= MAX_NAME and "_" not in host:
        return name
    return f"{name[: MAX_NAME - 9]}_{blake2b(host.encode(), digest_size=5).hexdigest()}"


def server_name(host: str) -> str:
    """Return the host as nginx' server name: one that is too long for its hash as an expression."""
    if len(host) > MAX_SERVER_NAME:
        return f'"~^{quoted(host)}$"'
    return host


def with_own_lines(text: str, examples: Iterable[Example], site: Description) -> str:
    """Replace the examples in the text by the site's lines, from the end: these may look like other examples."""
    lines = text.split("\n")
    places = {place_of(example, lines): example for example in examples}
    for at, example in sorted(places.items(), reverse=True):
        lines[at : at + example.length] = example.write(site)
    return "\n".join(lines)


def place_of(example: Example, lines: Sequence[str]) -> int:
    [at] = [number for number, line in enumerate(lines) if line.strip().startswith(example.start)]
    return at
