"""Each front before two sites with the same pages: one observes, one enforces.

Proxies have the files that the service generates for both sites. The other fronts have one instance or host for each.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socketserver import ThreadingMixIn
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import httpx
import yaml
from content_access_licensing.middleware import WsgiMiddleware

from tests.clients.sites import compiled
from tests.clients.wordpress import wordpress
from tests.faults.proxies.outages import ENFORCING, OBSERVING
from tests.faults.proxies.pages import FROM_THE_ORIGIN
from tests.faults.proxies.programs import PROXIES, Place, Proxy, running
from tests.openapi.node import TOOLS
from tests.services import free_port

HOSTS = {OBSERVING: "observing-site.example", ENFORCING: "enforcing.example"}
PATHS = {"open": "/about", "metered": "/metered/a", "licensed": "/licensed/a"}
OPEN = [PATHS["open"], PATHS["metered"]]
POSTS = {"open": "/free/free-post/", "metered": "/free/free-post/", "licensed": "/premium/premium-post/"}


@dataclass(frozen=True)
class Front:
    """A front: its port and host by site, its path by kind of page, and what shows that a page was served."""

    ports: dict[str, int]
    hosts: dict[str, str] = field(default_factory=lambda: HOSTS)
    paths: dict[str, str] = field(default_factory=lambda: PATHS)
    proof: bytes = FROM_THE_ORIGIN


@dataclass(frozen=True)
class Publishers:
    """The service, the origin, a publisher with both sites, and one with a site of each host of WordPress."""

    url: str
    origin: int
    api: httpx.Client
    key: str
    sites: dict[str, str]
    wordpress_keys: dict[str, str]

    @property
    def port(self) -> int:
        return httpx.URL(self.url).port or 80

    def file(self, proxy: str, site: str) -> str:
        reply = self.api.get(f"/v1/sites/{self.sites[site]}/proxy-config", params={"for": proxy})
        content: str = reply.raise_for_status().json()["content"]
        return content


def together(first: str, second: str, proxy: str) -> str:
    """Return one file for the proxy of two sites."""
    if proxy in ("nginx", "caddy"):
        return f"{first}\n{second}"
    if proxy == "envoy":
        filters = " " * 16 + "http_filters:"
        hosts = second.partition("virtual_hosts:\n")[2].partition(filters)[0]
        return first.replace(filters, hosts + filters) + second.partition("  clusters:\n")[2]
    merged, other = yaml.safe_load(first), yaml.safe_load(second)
    for kind, named in other["http"].items():
        assert not named.keys() & merged["http"][kind].keys()
        merged["http"][kind] |= named
    text: str = yaml.safe_dump(merged, width=100_000)
    return text


@contextmanager
def proxied(proxy: Proxy, at: Publishers, directory: Path) -> Iterator[Front]:
    both = together(at.file(proxy.name, OBSERVING), at.file(proxy.name, ENFORCING), proxy.name)
    place = Place(at.key, at.port, at.origin, free_port(), directory, generated=both, host=HOSTS[ENFORCING])
    with running(proxy, place):
        yield Front({OBSERVING: place.port, ENFORCING: place.port})


@contextmanager
def workers(proxy: Proxy, at: Publishers, directory: Path) -> Iterator[Front]:
    with ExitStack() as stack:
        ports = {}
        for site, open_paths in ((OBSERVING, None), (ENFORCING, "|".join(OPEN))):
            (folder := directory / site).mkdir()
            place = Place(
                at.key, at.port, at.origin, free_port(), folder, host=HOSTS[site], open_paths=open_paths,
                observes=site == OBSERVING,
            )  # fmt: skip
            stack.enter_context(running(proxy, place))
            ports[site] = place.port
        yield Front(ports)


@contextmanager
def blogs(at: Publishers, directory: Path) -> Iterator[Front]:
    with ExitStack() as stack:
        made = {}
        for site, key in at.wordpress_keys.items():
            (folder := directory / site).mkdir()
            made[site] = stack.enter_context(wordpress(folder, at.url, key, enforces=site == ENFORCING))
        hosts = dict.fromkeys(made, "pub.example")
        yield Front({site: blog.port for site, blog in made.items()}, hosts, POSTS, b"</html>")


class Threaded(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        """Keep quiet; the tests report failures."""


@contextmanager
def python(at: Publishers, _: Path) -> Iterator[Front]:
    def site(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        start_response("200 OK", [])
        return [FROM_THE_ORIGIN]

    app = WsgiMiddleware(site, at.url, at.key, fail_open=lambda path: path in OPEN, http=httpx.Client(trust_env=False))
    with make_server("127.0.0.1", 0, app, Threaded, Quiet) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield Front(dict.fromkeys(HOSTS, server.server_port))
        server.shutdown()


@contextmanager
def typescript(at: Publishers, _: Path) -> Iterator[Front]:
    options = json.dumps({"url": at.url, "key": at.key, "open": OPEN})
    command = ["node", Path(__file__).with_name("site.mjs"), compiled(), options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield Front(dict.fromkeys(HOSTS, int(process.stdout.readline())))
        finally:
            process.kill()


@contextmanager
def started(name: str, at: Publishers, directory: Path) -> Iterator[Front]:
    """Run a front within the block."""
    others = {"wordpress": blogs, "python": python, "typescript": typescript}
    if name in others:
        with others[name](at, directory) as front:
            yield front
        return
    [proxy] = [one for one in PROXIES if one.name == name]
    with (workers if name == "workerd" else proxied)(proxy, at, directory) as front:
        yield front


def is_installed(name: str) -> bool:
    """Return whether the front's program is there. WordPress says by itself what it lacks."""
    if name == "typescript":
        return shutil.which("node") is not None and (TOOLS / "tsc").exists()
    return all(proxy.program for proxy in PROXIES if proxy.name == name)
