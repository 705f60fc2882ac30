"""Readers while the service stalls, stops or is killed, and two sites in one proxy by their generated files."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
import yaml

from tests.faults.harness import Deployment
from tests.faults.proxies.conftest import FIVE_A_MONTH, LICENSEES
from tests.faults.proxies.pages import FROM_THE_ORIGIN, exchange
from tests.faults.proxies.programs import Place, running
from tests.services import free_port

OBSERVING, ENFORCING = "observing-site.example", "enforcing.example"
BROWSER, CRAWLER = "Mozilla/5.0 (X11; Linux x86_64) Chrome/131", "Mozilla/5.0 (compatible; GPTBot/1.2)"
FREE, SOLD, METERED = "/", "/licensed/a", "/metered/a"
ARABIC = "/%D8%AE%D8%A8%D8%B1/2026"


def together(files: list[str], proxy: str) -> str:
    """Return one file for the proxy of several sites."""
    if proxy in ("nginx", "caddy"):
        return "\n".join(files)
    first, second = files
    if proxy == "envoy":
        hosts = second.partition("virtual_hosts:\n")[2].partition(" " * 16 + "http_filters:")[0]
        return first.replace(" " * 16 + "http_filters:", f"{hosts}{' ' * 16}http_filters:") + clusters(second)
    merged, other = yaml.safe_load(first), yaml.safe_load(second)
    for kind, named in other["http"].items():
        assert not named.keys() & merged["http"][kind].keys()
        merged["http"][kind] |= named
    text: str = yaml.safe_dump(merged, width=100_000)
    return text


def clusters(configuration: str) -> str:
    return configuration.partition("  clusters:\n")[2]


@pytest.fixture
def port(proxy, site, publisher, server, origin, tmp_path) -> Iterator[int]:
    """The port of a proxy before two sites, with the file that the service generates for each."""
    if proxy.name == "workerd":
        pytest.skip("The Worker has no generated file.")
    policies = [site.post("/policies", json={"name": "x", "rules": [rule]}) for rule in (LICENSEES, FIVE_A_MONTH)]
    licensed, metered = [policy.json()["id"] for policy in policies]
    rules = [{"pattern": "/licensed/", "policyId": licensed}, {"pattern": "/metered/", "policyId": metered}]
    files, ids = [], []
    for host, mode in ((OBSERVING, "observe"), (ENFORCING, "enforce")):
        made = site.post("/sites", json={"host": host, "mode": mode, "unknown": "allow", "rules": rules})
        assert made.status_code == 201, made.text
        ids.append(made.json()["id"])
        files.append(site.get(f"/sites/{ids[-1]}/proxy-config", params={"for": proxy.name}).json()["content"])
    both = together(files, proxy.name)
    at = Place(publisher.key, server.port, origin, free_port(), tmp_path, generated=both, host=ENFORCING)
    with running(proxy, at):
        yield at.port
    for site_id in ids:
        site.delete(f"/sites/{site_id}").raise_for_status()


def reads(port: int, host: str, path: str, agent: str = BROWSER) -> bool:
    head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {agent}\r\nConnection: close\r\n\r\n"
    return FROM_THE_ORIGIN in exchange(port, head.encode(), 60)


@contextmanager
def stopping(server: Deployment) -> Iterator[None]:
    """Begin to stop the service, as a restart does; the block runs meanwhile and afterwards."""
    assert server.process
    server.process.send_signal(signal.SIGTERM)
    yield
    server.kill()
    server.start()


@contextmanager
def killed(server: Deployment) -> Iterator[None]:
    server.kill()
    yield
    server.start()


AWAY: list[Callable[[Deployment], AbstractContextManager[None]]] = [Deployment.stopped, stopping, killed]


def test_no_reader_gets_an_error_while_the_service_is_away(proxy, port, server):
    assert reads(port, OBSERVING, SOLD)
    assert not reads(port, ENFORCING, SOLD)
    # Traefik cannot keep pages open that it asks about: these are refused, and crawlers of sites that observe, too.
    metered = [METERED] if proxy.can_open else []
    for away in AWAY:
        with away(server):
            for path in (FREE, ARABIC, *metered):
                assert reads(port, ENFORCING, path), (away, path)
            for path in (FREE, SOLD, ARABIC, METERED, "/a%2Fb;c", "/a?b=c"):
                assert reads(port, OBSERVING, path), (away, path)
            if proxy.can_open:
                assert reads(port, OBSERVING, SOLD, CRAWLER), away
                assert not reads(port, ENFORCING, SOLD), away
                assert not reads(port, ENFORCING, METERED, CRAWLER), away
    assert not reads(port, ENFORCING, SOLD)


def test_a_service_that_stalled_is_not_asked_for_some_seconds(proxy, origin, tmp_path):
    if proxy.is_patient:
        pytest.skip("Traefik has no such option.")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        at = Place("svc_sk_x", silent.getsockname()[1], origin, free_port(), tmp_path, observes=True)
        with running(proxy, at, decides=False):
            for _ in range(8):
                assert reads(at.port, at.host, "/licensed/a", CRAWLER)
        silent.setblocking(False)
        questions = 0
        try:
            while True:
                silent.accept()[0].close()
                questions += 1
        except BlockingIOError:
            pass
    assert 1 <= questions <= 3
