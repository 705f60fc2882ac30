"""Pages behind nginx that caches the service's answers, against nginx that asks about each page.

    python -m benchmarks.edge_caching

Each side has its own nginx in front of one origin, a further nginx. Two sides use the site's file for nginx, as the
service writes it, and ask an installation with EDGE_CACHE_SECONDS at 0 or 60. A third nginx has no licensing at all.
The visits are those of benchmarks.edge: 2,000 different ones, so after the warm-up the cache has nearly all answers.
All connections come from 127.0.0.1; nginx takes the visitors' addresses from a header, as behind a load balancer.
"""

from contextlib import ExitStack
from dataclasses import dataclass, field
from getpass import getuser
from pathlib import Path
from statistics import median

import httpx

from benchmarks.edge import EdgeSide, Visit, key_of, path_of, register, visits
from benchmarks.harness import ServerProcess, expect, workplace
from benchmarks.load import DONE, Run, measure, processor_seconds
from benchmarks.ours import Installation, installed
from benchmarks.report import load_of, parser, publish, runs_of, table
from tests.faults.proxies.programs import HOST, KEY, PROXIES
from tests.services import free_port

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


@dataclass(frozen=True)
class PageRun(Run):
    """`parts` has the µs of CPU a page of each server and of the storage."""

    parts: dict[str, float] = field(default_factory=dict)


@dataclass
class PageSide(EdgeSide):
    """A side behind nginx. `servers` are in the order of SERVERS."""

    def run(self, seconds: float, connections: int, threads: int = 1) -> Run:
        before = self.seconds_of_parts()
        run = super().run(seconds, connections, threads)
        pages = run.rate * seconds
        parts = {name: (after - before[name]) / pages * 1e6 for name, after in self.seconds_of_parts().items()}
        return PageRun(**vars(run), parts=parts)

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
