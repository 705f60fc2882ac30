"""Restart a service of two machines under traffic, behind nginx as docs/guides/deployment.md prints it.

    python -m benchmarks.restarts [--rate 40] [--restarts 3]

The machines share PostgreSQL and Valkey, and their processes have no privileges. Checks are due at a steady rate,
whether or not earlier ones are answered. Prints how often each status was answered, and the slowest reply. Exits with
status 1 if a reply was no 200, or if none came.
"""

import shutil
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import httpx

from benchmarks.harness import ServerProcess, due_moments, expect, workplace
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, LICENSED, Installation, installed
from benchmarks.report import machine, parser
from tests.documentation.blocks import block
from tests.faults.proxies.programs import Place, nginx_arguments
from tests.services import free_port

DEPLOYMENT = "docs/guides/deployment.md"
PRINTED = ("10.0.0.5:8000", "10.0.0.6:8000")
CLIENTS = 80  # that wait for replies at a time


def second_machine(made: Installation) -> ServerProcess:
    """Return another server on the installation's database, with a folder and a port of its own."""
    port, directory = free_port(), made.directory.with_name("second")
    directory.mkdir()
    environment = {**made.environment, "PORT": str(port), "DATA_DIR": str(directory)}
    secret = (made.directory / "secret_key").read_text().strip()
    environment |= {"SECRET_KEY": secret}
    ready = f"http://127.0.0.1:{port}/readyz"
    return ServerProcess("second", made.server.command, environment, ready, directory / "server.log")


def site_of(addresses: list[str], port: int) -> str:
    """Return the guide's upstream and location for these machines."""
    upstream, location = block(DEPLOYMENT, "upstream licensing {"), block(DEPLOYMENT, "location / {")
    for printed, address in zip(PRINTED, addresses, strict=True):
        upstream = upstream.replace(printed, address)
    location = location.partition("location = /metrics")[0]
    location = location.replace("http://127.0.0.1:8000;", "http://licensing; proxy_connect_timeout 2s;")
    return f"{upstream} server {{ listen 127.0.0.1:{port}; {location} }}"


class Traffic:
    """Checks at a steady rate. `statuses` counts the replies, 0 for none; `slowest` is in seconds."""

    def __init__(self, url: str, headers: dict[str, str], item: str, rate: float) -> None:
        limits = httpx.Limits(max_connections=CLIENTS)
        self.client = httpx.Client(base_url=url, headers=headers, timeout=60, limits=limits)
        self.body = {"contentId": item, "requester": LICENSED}
        self.rate, self.statuses, self.slowest = rate, Counter[int](), 0.0
        self.ended = Event()

    def check(self, due: float) -> None:
        try:
            status = self.client.post("/v1/access/check", json=self.body).status_code
        except httpx.TransportError:
            status = 0
        self.statuses[status] += 1
        self.slowest = max(self.slowest, time.perf_counter() - due)

    def run(self) -> None:
        with ThreadPoolExecutor(CLIENTS) as executor:
            for due in due_moments(self.rate, self.ended):
                executor.submit(self.check, due)


def main() -> None:
    options = parser(__doc__, load=False, repeated=False)
    options.add_argument("--rate", type=float, default=40, help="checks a second")
    options.add_argument("--restarts", type=int, default=3, help="of each machine")
    given = options.parse_args()
    nginx = shutil.which("nginx")
    expect(nginx is not None, "nginx is not installed")
    with workplace(storage=True) as (stack, directory, services):
        made = installed(stack, "first", directory, services)
        [item] = made.items(made.policy(ALLOW_LICENSED, DENY_ALL))
        second = second_machine(made)
        stack.callback(second.stop)
        second.start()
        machines = [made.server, second]
        addresses = [server.ready.removeprefix("http://").removesuffix("/readyz") for server in machines]
        place = Place("", 0, 0, free_port(), directory)
        proxy = subprocess.Popen([str(nginx), *nginx_arguments(place, site_of(addresses, place.port))])
        stack.callback(proxy.terminate)
        traffic = Traffic(f"http://127.0.0.1:{place.port}", made.headers, item, given.rate)
        with ThreadPoolExecutor(1) as executor:
            running = executor.submit(traffic.run)
            time.sleep(given.seconds)
            for server in machines * given.restarts:
                server.stop()
                server.start()
                time.sleep(given.seconds)
            traffic.ended.set()
            running.result()
    print(f"{len(machines) * given.restarts} restarts: {dict(traffic.statuses)}, slowest {traffic.slowest:.2f} s.")
    print(f"{machine()}. Command: `python -m benchmarks.restarts {' '.join(sys.argv[1:])}`".strip())
    sys.exit(0 if set(traffic.statuses) == {200} else 1)


if __name__ == "__main__":
    main()
