"""The outage table (outages.py): every fault of the service, behind every front. Needs PostgreSQL."""

import os
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import pytest

from tests.factories import ALLOW_ALL, LICENSED
from tests.faults.harness import Api, Deployment, eventually
from tests.faults.proxies.conftest import FIVE_A_MONTH
from tests.faults.proxies.fronts import HOSTS, PATHS, Front, Publishers, is_installed, started
from tests.faults.proxies.outages import CRAWLER, ENFORCING, FAULTS, FRONTS, OBSERVING, READER, TABLE
from tests.faults.proxies.pages import exchange
from tests.faults.proxies.programs import PROXIES, Place, Proxy, running
from tests.services import free_port

SECONDS = 8  # that a visitor waits; the fronts give up after 2, on a machine that has time for them
VISITORS = 24  # at the same time
AGENTS = {READER: "Mozilla/5.0 (X11; Linux x86_64) Chrome/131", CRAWLER: "Mozilla/5.0 (compatible; GPTBot/1.2)"}


@contextmanager
def stopping(server: Deployment) -> Iterator[None]:
    """Begin to stop the service, as a restart does; the block runs meanwhile and afterwards."""
    assert server.process
    server.process.send_signal(signal.SIGTERM)
    try:
        yield
    finally:
        server.kill()


@contextmanager
def upgraded(server: Deployment) -> Iterator[None]:
    assert server.process
    server.process.send_signal(signal.SIGTERM)
    server.process.wait()
    server.ask_shell("manage", "migrate", "--verbosity=0")
    yield


@contextmanager
def killed(server: Deployment) -> Iterator[None]:
    server.kill()
    yield


@contextmanager
def without_database(server: Deployment) -> Iterator[None]:
    assert server.postgres
    server.postgres.stop("fast")
    yield


FAULTY = dict(
    zip(FAULTS, (stopping, upgraded, killed, Deployment.stopped, without_database, Deployment.full_disk), strict=True)
)


def new_site(api: Api, host: str, mode: str, pages: dict[str, str]) -> str:
    policies = {"open": ALLOW_ALL, "metered": FIVE_A_MONTH, "licensed": LICENSED}
    rules = [{"pattern": path, "policyId": api.policy(policies[kind])} for kind, path in pages.items()]
    return api.create("/v1/sites", host=host, mode=mode, unknown="allow", rules=rules)


@pytest.fixture(scope="module")
def publishers(deployment: Deployment, keys: Iterator[str], origin: int) -> Iterator[Publishers]:
    deployment.start()
    modes = {OBSERVING: "observe", ENFORCING: "enforce"}
    blogs = {site: next(keys) for site in modes}
    for site, key in blogs.items():
        with deployment.client(key) as api:
            new_site(api, "pub.example", modes[site], {"open": "/free/", "licensed": "/premium/"})
    key = next(keys)
    with deployment.client(key) as api:
        sites = {site: new_site(api, HOSTS[site], mode, PATHS) for site, mode in modes.items()}
        yield Publishers(deployment.url, origin, api, key, sites, blogs)


@pytest.fixture(scope="module")
def fronts(
    publishers: Publishers, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Front]]:
    """All fronts that are installed. WordPress takes part in the whole run only."""
    is_whole_run = request.config.option.sample is None
    chosen = [name for name in FRONTS if is_installed(name) and (name != "wordpress" or is_whole_run)]
    with ExitStack() as stack, ThreadPoolExecutor(len(chosen)) as threads:

        def start(name: str) -> Front:
            return stack.enter_context(started(name, publishers, tmp_path_factory.mktemp(name)))

        yield dict(zip(chosen, threads.map(start, chosen), strict=True))


def visit(front: Front, site: str, page: str, agent: str = AGENTS[READER]) -> bytes:
    """Return the reply to a visitor; empty if none came in time."""
    lines = f"Host: {front.hosts[site]}", f"User-Agent: {agent}", "Accept: */*", "Connection: close"
    head = "\r\n".join([f"GET {front.paths[page]} HTTP/1.1", *lines, "", ""])
    try:
        return exchange(front.ports[site], head.encode(), SECONDS)
    except TimeoutError:
        return b""


def is_ready(front: Front) -> bool:
    """Return whether the front asks the service about both sites."""
    return front.proof in visit(front, OBSERVING, "licensed") and b" 402 " in visit(front, ENFORCING, "licensed")[:20]


def fronts_not_ready(fronts: dict[str, Front]) -> list[str]:
    """Wait for all fronts at the same time; return those that are not ready after 90 s."""
    with ThreadPoolExecutor(len(fronts)) as visitors:
        ready = visitors.map(lambda front: eventually(lambda: is_ready(front), 90), fronts.values())
        return [name for name, is_front_ready in zip(fronts, ready, strict=True) if not is_front_ready]


def is_whole_refusal(reply: bytes) -> bool:
    """Return whether this is a decision of a service that still runs, or names the time to come again."""
    is_unavailable = b" 50" in reply[:20] and b"retry-after: 10" in reply and b"no-store" in reply
    return is_unavailable or b" 402 " in reply[:20]


@pytest.mark.parametrize("name", FRONTS)
def test_every_front_of_the_table_is_installed(name):
    if not is_installed(name):
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"No outage of {name} was tried: it is not installed.")


@pytest.mark.parametrize("fault", FAULTS)
def test_visitors_get_what_the_table_says_while_the_service_is_away(fault, fronts, server):
    assert fronts_not_ready(fronts) == []
    cells = {
        (name, row.site, row.visitor, page): getattr(row, page)
        for name in fronts
        for row in TABLE
        for page in PATHS
        if getattr(row, page) is not None
    }
    with FAULTY[fault](server), ThreadPoolExecutor(VISITORS) as visitors:
        replies = {cell: visitors.submit(visit, fronts[cell[0]], cell[1], cell[3], AGENTS[cell[2]]) for cell in cells}
        served = {cell: fronts[cell[0]].proof in reply.result() for cell, reply in replies.items()}
        assert served == cells
        refusals = [replies[cell].result() for cell, is_served in cells.items() if not is_served]
        assert [reply[:300] for reply in refusals if not is_whole_refusal(reply)] == []
    server.start()
    assert fronts_not_ready(fronts) == []


def test_a_service_that_stalled_is_not_asked_for_some_seconds(origin, tmp_path):
    def times_asked(proxy: Proxy) -> int:
        (folder := tmp_path / proxy.name).mkdir()
        with socket.create_server(("127.0.0.1", 0)) as silent:
            at = Place("svc_sk_x", silent.getsockname()[1], origin, free_port(), folder, observes=True)
            front = Front({OBSERVING: at.port}, {OBSERVING: at.host})
            with running(proxy, at, decides=False):
                for _ in range(8):
                    assert front.proof in visit(front, OBSERVING, "licensed", AGENTS[CRAWLER])
            silent.setblocking(False)
            return sum(1 for _ in accepted(silent))

    installed = [proxy for proxy in PROXIES if proxy.program]
    with ThreadPoolExecutor(len(PROXIES)) as threads:
        times = dict(zip((proxy.name for proxy in installed), threads.map(times_asked, installed), strict=True))
    assert [name for name, number in times.items() if not 1 <= number <= 3] == [], times


def accepted(server: socket.socket) -> Iterator[Callable[[], None]]:
    """Yield once for each connection that was opened meanwhile."""
    while True:
        try:
            connection, _ = server.accept()
        except BlockingIOError:
            return
        yield connection.close
