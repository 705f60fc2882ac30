"""Pages behind nginx that caches the service's answers, against nginx that asks about each page.

    python -m benchmarks.edge_caching

Each side has its own nginx in front of one origin, a further nginx. Two sides use the site's file for nginx, as the
service writes it, and ask an installation with EDGE_CACHE_SECONDS at 0 or 60. A third nginx has no licensing at all.
1,000 pages with Zipf-distributed popularity are free, for licensees, or closed to AI. The 2,000 different visits are
by browsers, crawlers and clients without a User-Agent, so after the warm-up the cache has nearly all answers. All
connections come from 127.0.0.1; nginx takes the visitors' addresses from a header, as behind a load balancer.
"""

import random
from contextlib import ExitStack
from dataclasses import dataclass, field
from getpass import getuser
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import httpx

from benchmarks.harness import ServerProcess, expect, workplace
from benchmarks.load import DONE, Run, Side, measure, processor_seconds
from benchmarks.ours import DENY_ALL, Installation, installed
from benchmarks.report import load_of, parser, publish, runs_of, table
from benchmarks.traffic import ITEMS, QUESTIONS, zipf
from tests.faults.proxies.programs import HOST, KEY, PROXIES
from tests.services import free_port

FREE: list[dict[str, Any]] = [{"action": "allow", "conditions": {"default": True}, "permissions": ["read"]}]
LICENSEES: list[dict[str, Any]] = [
    {"action": "allow", "priority": 1, "conditions": {"hasValidLicense": True}, "permissions": ["full_access"]},
    DENY_ALL,
]
NO_AI: list[dict[str, Any]] = [
    {"action": "deny", "priority": 1, "conditions": {"permission": ["ai_training", "ai_input"]}},
    *FREE,
]
SECTIONS = (("free", FREE), ("free", FREE), ("premium", LICENSEES), ("no-ai", NO_AI))
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:{}.0) Gecko/20100101 Firefox/{}.0"
CRAWLERS = ("GPTBot/1.2", "ClaudeBot/1.0")
ADDRESS = "X-Visitor-Address"
PAGE = "a page of the origin " * 100
ORIGIN = f"server {{ listen 127.0.0.1:%d; location / {{ default_type text/html; return 200 '{PAGE}'; }} }}"
DIRECT = (
    "upstream origin { server 127.0.0.1:%d; keepalive 16; } server { listen 127.0.0.1:%d;"
    ' location / { proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection ""; } }'
)
SERVERS, STORAGE = ("nginx", "origin", "service"), "PostgreSQL + Valkey"
FOLDERS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
SECONDS = 60


class Visit(NamedTuple):
    page: int
    address: str
    agent: str | None


def path_of(page: int) -> str:
    return f"/{SECTIONS[page % len(SECTIONS)][0]}/{page}"


def visits() -> list[Visit]:
    draw = random.Random(20_099)
    made = []
    for page in draw.choices(range(ITEMS), cum_weights=zipf(ITEMS), k=QUESTIONS):
        number = draw.randrange(1_000)
        address, kind = f"203.0.{112 + number // 250}.{1 + number % 250}", draw.random()
        if kind < 0.7:
            version = draw.randrange(100, 140)
            made.append(Visit(page, address, BROWSER.format(version, version)))
        elif kind < 0.95:
            made.append(Visit(page, address, draw.choice(CRAWLERS)))
        else:
            made.append(Visit(page, address, None))
    return made


def register(made: Installation) -> None:
    policies = [made.policy(*rules) for _, rules in SECTIONS]
    made.post(
        "/v1/sites",
        {"host": "pub.example", "mode": "enforce", "rules": [{"pattern": "/premium/*", "policyId": policies[2]}]},
    )
    rows = [
        {"title": f"Page {page}", "source": f"https://pub.example{path_of(page)}", "policyId": policies[page % 4]}
        for page in range(ITEMS)
    ]
    made.post("/v1/content/bulk", {"items": rows})


def key_of(made: Installation) -> str:
    return made.headers["Authorization"].removeprefix("Bearer ")


@dataclass(frozen=True)
class PageRun(Run):
    """`parts` has the µs of CPU a page of each server and of the storage."""

    parts: dict[str, float] = field(default_factory=dict)


@dataclass
class PageSide(Side):
    """A side behind nginx, whose refusals (402, 403) count as answers. `servers` are in the order of SERVERS."""

    def run(self, seconds: float, connections: int, threads: int = 1) -> Run:
        before = self.seconds_of_parts()
        run = super().run(seconds, connections, threads)
        pages = run.rate * seconds
        parts = {name: (after - before[name]) / pages * 1e6 for name, after in self.seconds_of_parts().items()}
        return PageRun(**vars(run), parts=parts)

    def read(self, found: dict[str, int], connections: int, spent: list[float]) -> Run:
        return super().read({**found, "refused": 0}, connections, spent)

    def seconds_of_parts(self) -> dict[str, float]:
        parts = {name: processor_seconds([server.pid]) for name, server in zip(SERVERS, self.servers, strict=False)}
        return parts | ({STORAGE: processor_seconds(self.storage)} if self.storage else {})


def nginx(stack: ExitStack, directory: Path, name: str, text: str) -> ServerProcess:
    """Start an nginx with a worker per core and this text in its http block."""
    ready = free_port()
    [found] = [proxy for proxy in PROXIES if proxy.name == "nginx"]
    expect(found.program is not None, "nginx is not installed.")
    place = directory / f"nginx-{name}"
    place.mkdir()
    temporary = " ".join(f"{folder}_temp_path {place}/{folder};" for folder in FOLDERS)
    (place / "nginx.conf").write_text(
        f"daemon off; user {getuser()}; worker_processes auto; events {{}}\n"
        f"pid {place}/pid; error_log {place}/error.log;\n"
        f"http {{ server {{ listen 127.0.0.1:{ready}; return 200; }}\n"
        f"access_log off; set_real_ip_from 127.0.0.1; real_ip_header {ADDRESS}; {temporary}\n{text}\n}}\n"
    )
    command = [str(found.program), "-c", str(place / "nginx.conf"), "-p", str(place)]
    server = ServerProcess(name, command, {}, f"http://127.0.0.1:{ready}/", place / "output.log")
    stack.callback(server.stop)
    server.start()
    return server


def site_file(made: Installation, directory: Path, origin: int, port: int) -> str:
    """Return the site's own file for nginx, with the addresses filled in."""
    [site] = made.client.get("/v1/sites").json()["data"]
    text: str = made.client.get(f"/v1/sites/{site['id']}/proxy-config", params={"for": "nginx"}).json()["content"]
    for given, own in (
        ("server 127.0.0.1:8000", f"server 127.0.0.1:{made.port}"),
        ("server 127.0.0.1:8080;", f"server 127.0.0.1:{origin};"),
        ("listen 80", f"listen 127.0.0.1:{port}"),
        ("/var/cache/nginx-licensing", f"{directory}/cache-{port}"),
        (KEY, key_of(made)),
    ):
        expect(given in text, f"the file for nginx lacks {given!r}")
        text = text.replace(given, own)
    return text


def headers_of(visit: Visit) -> dict[str, str]:
    return {"Host": HOST, ADDRESS: visit.address} | ({"User-Agent": visit.agent} if visit.agent else {})


def pages_script(path: Path) -> Path:
    """Write a wrk script that visits the pages in turn, starting anywhere."""
    lines = ["local requests, at = {}, 0", "function init(args)", "  math.randomseed(os.time())"]
    for visit in visits():
        fields = ", ".join(f'["{name}"]="{value}"' for name, value in headers_of(visit).items())
        lines.append(f'  requests[#requests + 1] = wrk.format("GET", "{path_of(visit.page)}", {{{fields}}})')
    lines += ["  at = math.random(#requests)", "end"]
    lines += ["function request()", "  at = at % #requests + 1", "  return requests[at]", "end"]
    path.write_text("\n".join(lines) + DONE)
    return path


def statuses(side: PageSide) -> list[int]:
    with httpx.Client(base_url=side.url) as client:
        return [
            client.get(path_of(visit.page), headers={"User-Agent": "", **headers_of(visit)}).status_code
            for visit in visits()
        ]


def expect_equal_answers(sides: list[PageSide]) -> None:
    """Expect the same statuses from the first two sides, also when the cache has them; some are refused."""
    asking, caching, direct = sides
    wanted = statuses(asking)
    for time in ("first", "second"):
        expect(statuses(caching) == wanted, f"the {time} answers with a cache differ")
    allowed = wanted.count(200)
    expect(len(wanted) * 0.4 < allowed < len(wanted) * 0.9, f"{allowed} of {len(wanted)} visits are let through")
    expect(set(statuses(direct)) == {200}, "the origin refuses pages")


def parts_table(sides: list[PageSide]) -> list[str]:
    names = [*SERVERS, STORAGE]
    rows = [["µs CPU a page", *names], ["---", *["---:"] * len(names)]]
    for side in sides:
        spent = [run.parts for run in side.runs if isinstance(run, PageRun)]
        rows.append([side.name, *(f"{median(parts.get(name, 0) for parts in spent):.0f}" for name in names)])
    return [f"| {' | '.join(row)} |" for row in rows]


def main() -> None:
    options = parser(__doc__).parse_args()
    with workplace() as (stack, directory, services):
        assert services
        port = free_port()
        origin = nginx(stack, directory, "origin", ORIGIN % port)
        script = pages_script(directory / "pages.lua")
        sides: list[PageSide] = []

        def side(name: str, slug: str, text: str, at: int, made: Installation | None = None) -> None:
            proxy = nginx(stack, directory, slug, text)
            servers, storage = ((proxy, origin), ()) if made is None else ((proxy, origin, made.server), services.pids)
            sides.append(PageSide(name, f"http://127.0.0.1:{at}", script, servers, storage))

        for name, seconds in (("asks about each page", 0), (f"caches answers for {SECONDS} s", SECONDS)):
            made = installed(
                *(stack, f"caching-{seconds}", directory, services),
                TRUSTED_PROXIES="127.0.0.1",
                CRAWLER_DNS="off",
                EDGE_CACHE_SECONDS=str(seconds),
            )
            register(made)
            side(name, f"caching-{seconds}", site_file(made, directory, port, at := free_port()), at, made)
        side("no licensing", "direct", DIRECT % (port, at := free_port()), at)

        expect_equal_answers(sides)
        measure(sides, **load_of(options))
        parts = "\n".join(parts_table(sides))
        publish("edge_caching", f"{table(sides, sides[0], 'page')}\n\n{parts}", runs_of(sides), options)


if __name__ == "__main__":
    main()
