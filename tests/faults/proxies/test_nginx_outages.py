"""nginx with an upstream of several servers, of which all are down, or one answers that it cannot decide."""

from pathlib import Path

import pytest

from run import ROOT
from tests.faults.proxies.origin import serving
from tests.faults.proxies.pages import CLOSED, DOUBTFUL, NEARLY_PUBLIC, OPEN, PUBLIC, is_served
from tests.faults.proxies.programs import NAMED_IN_NGINX, Place, running
from tests.faults.proxies.unavailable import Service
from tests.services import free_port


def with_second_server(options: str = "") -> str:
    """Return nginx.conf with the suggested open pages, and a second server of the service, which is down."""
    text = (ROOT / "deploy" / "edge" / "nginx.conf").read_text().replace(f"# {NAMED_IN_NGINX}", NAMED_IN_NGINX)
    text = text.replace("default ask;", "default closed;")
    two = f"server 127.0.0.1:8000{options}; server 127.0.0.1:{free_port()}{options};"
    return text.replace("server 127.0.0.1:8000 max_fails=3 fail_timeout=10s;", two)


@pytest.mark.parametrize("option", ["", " max_fails=0"], ids=["default", "max_fails=0"])
def test_named_pages_stay_open_while_all_servers_of_the_upstream_are_down(nginx, origin, tmp_path: Path, option: str):
    two = with_second_server(option)
    at = Place("svc_sk_of_the_edge", free_port(), origin, free_port(), tmp_path, generated=two)
    with running(nginx, at, decides=False):
        assert [path for path in (*OPEN, *PUBLIC, *OPEN) if not is_served(at.port, path)] == []
        assert [path for path in (*CLOSED, *DOUBTFUL, *NEARLY_PUBLIC) if is_served(at.port, path)] == []


@pytest.mark.parametrize(
    ("status", "opened"), [(503, [*OPEN, *PUBLIC, *OPEN]), (500, [*OPEN, *PUBLIC, *OPEN]), (400, [*OPEN, *OPEN])]
)
def test_the_last_server_asked_decides_what_stays_open(nginx, origin, tmp_path: Path, status: int, opened: list[str]):
    with serving(type("Answering", (Service,), {"status": status})) as service:
        two = with_second_server(" max_fails=0")
        at = Place("svc_sk_of_the_edge", service, origin, free_port(), tmp_path, generated=two)
        with running(nginx, at, decides=False):
            assert [path for path in (*OPEN, *PUBLIC, *OPEN) if is_served(at.port, path)] == opened
            assert [path for path in (*CLOSED, *DOUBTFUL, *NEARLY_PUBLIC) if is_served(at.port, path)] == []
