"""The machines: PostgreSQL, Valkey, the service, nginx before the publisher's own server, and receivers."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from posixpath import normpath
from threading import Lock, Thread
from typing import Any, NamedTuple
from urllib.parse import unquote

from tests.faults.harness import Deployment
from tests.faults.proxies import programs
from tests.faults.proxies.origin import Quiet
from tests.faults.proxies.programs import Place, Proxy, running
from tests.services import free_port, postgres, valkey
from tests.services.server import directory as open_directory
from tests.world.clock import LIBRARY, WorldClock
from tests.world.publisher import CRAWLER_NETWORKS, PAGES

SETTINGS = {
    "WEBHOOKS_ALLOW_PRIVATE": "on",
    "WEBHOOK_RETRY_SCHEDULE": "0,5,300,3600,14400",
    "SAME_PAGE": "trailing-slash,query",
    "CRAWLER_DNS": "off",  # no name server is used
    "BASE_URL": "https://licensing.example",
}


def nginx(at: Place) -> list[str]:
    """Return arguments for nginx, which drops all variables that are not named: libfaketime needs these."""
    return [*programs.nginx(at), "-g", "env FAKETIME_TIMESTAMP_FILE; env FAKETIME_NO_CACHE;"]


NGINX = Proxy(nginx, 503)


def missing_tools() -> list[str]:
    """Return the missing programs, as Debian package names."""
    return [name for name, found in (("nginx", NGINX.program), ("faketime", LIBRARY.exists())) if not found]


class Served(NamedTuple):
    """A request that reached the publisher's own server."""

    path: str
    decision: str | None
    requester: str | None
    visitor: str | None


class Origin(ThreadingHTTPServer):
    """The publisher's web server with thirty pages; it stores the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        self.served: list[Served] = []
        self.known = {page.path for page in PAGES}
        super().__init__(("127.0.0.1", 0), Visit)


class Visit(Quiet):
    protocol_version = "HTTP/1.1"
    server: Origin

    def serve(self) -> None:
        path = normpath(unquote(self.path.partition("?")[0])).replace("//", "/")
        names = ("X-Access-Decision", "X-Access-Requester", "X-Forwarded-For")
        self.server.served.append(Served(path, *(self.headers.get(name) for name in names)))
        self.answer(200 if path in self.server.known else 404, path.encode())


class Delivery(NamedTuple):
    """A webhook request and the receiver's reply."""

    at: float
    headers: dict[str, str]
    body: bytes
    status: int


class Receiver(ThreadingHTTPServer):
    """A webhook receiver that replies with `status`."""

    daemon_threads = True

    def __init__(self, clock: WorldClock) -> None:
        self.clock, self.status = clock, 200
        self.deliveries: list[Delivery] = []
        self.lock = Lock()
        super().__init__(("127.0.0.1", 0), Hook)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class Hook(Quiet):
    protocol_version = "HTTP/1.1"
    server: Receiver

    def serve(self) -> None:
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:  # the service was killed while it sent: nothing was delivered
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        receiver = self.server
        with receiver.lock:
            status = receiver.status
            receiver.deliveries.append(Delivery(receiver.clock.timestamp(), headers, body, status))
        self.answer(status)


@contextmanager
def listening(server: Any) -> Iterator[Any]:
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class Machines:
    """All machines, started in order of dependency."""

    def __init__(self, clock: WorldClock, service: Deployment, origin: Origin, receivers: list[Receiver]) -> None:
        self.clock, self.service, self.origin, self.receivers = clock, service, origin, receivers
        self.site_port = free_port()
        self.proxy = ExitStack()

    def start_proxy(self, edge_key: str) -> None:
        """Start nginx with the file in deploy/edge, replacing only its placeholders."""
        place = self.service.directory / "nginx"
        place.mkdir(exist_ok=True)
        at = Place(edge_key, self.service.port, self.origin.server_port, self.site_port, place)
        self.proxy.enter_context(running(NGINX, at, variables=self.clock.environment))


def load_crawler_addresses(service: Deployment) -> None:
    """Load the crawlers' addresses before the service starts: running processes see them only after some seconds."""
    for name, network in CRAWLER_NETWORKS.items():
        file = service.directory / f"{name}.json"
        file.write_text(json.dumps({"prefixes": [{"ipv4Prefix": network}]}))
        service.manage("load_crawler_addresses", name, str(file))


@contextmanager
def machines(place: Path, begins: Any, report: Callable[[str], object]) -> Iterator[Machines]:
    with open_directory() as shared:
        shared.chmod(0o755)  # PostgreSQL runs as another user, and reads the clock too
        clock = WorldClock(shared, begins)
        faked = clock.environment
        with (
            postgres(fsync=False, variables=faked) as database,  # kill -9 is no power cut
            valkey(variables=faked) as redis,
            listening(Origin()) as origin,
            listening(Receiver(clock)) as first,
            listening(Receiver(clock)) as second,
        ):
            service = Deployment(place, workers=2, postgres=database, valkey=redis, **SETTINGS, **faked)
            found = Machines(clock, service, origin, [first, second])
            try:
                service.migrate()
                load_crawler_addresses(service)
                report("migrated")
                service.start()
                report("serving")
                yield found
            except BaseException:
                report(f"The service's log ends with\n{service.log()[-5000:]}")
                raise
            finally:
                found.proxy.close()
                service.close()
