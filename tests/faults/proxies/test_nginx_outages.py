"""nginx while the service answers 503, and with an upstream of several servers that are all down."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from run import ROOT
from tests.faults.proxies.origin import serving
from tests.faults.proxies.programs import Place, running
from tests.faults.proxies.test_outages import CLOSED, DOUBTFUL, NEARLY_PUBLIC, OPEN, PUBLIC, is_served
from tests.services import free_port


class Unavailable(BaseHTTPRequestHandler):
    """A service whose database is down."""

    def do_GET(self) -> None:
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def unavailable() -> Iterator[int]:
    with serving(Unavailable) as port:
        yield port


def test_only_public_pages_stay_open_while_the_service_answers_503(nginx, unavailable, origin, tmp_path: Path):
    at = Place("svc_sk_of_the_edge", unavailable, origin, free_port(), tmp_path, keeps_open=True)
    with running(nginx, at, decides=False):
        assert [path for path in PUBLIC if not is_served(at.port, path)] == []
        assert [path for path in (*OPEN, *CLOSED, *DOUBTFUL, *NEARLY_PUBLIC) if is_served(at.port, path)] == []


@pytest.mark.parametrize("option", ["", " max_fails=0"], ids=["default", "max_fails=0"])
def test_named_pages_stay_open_while_all_servers_of_the_upstream_are_down(nginx, origin, tmp_path: Path, option: str):
    text = (ROOT / "deploy" / "edge" / "nginx.conf").read_text().replace('# "~^50[24]', '"~^50[24]')
    two = text.replace("server 127.0.0.1:8000;", f"server 127.0.0.1:8000; server 127.0.0.1:{free_port()}{option};")
    at = Place("svc_sk_of_the_edge", free_port(), origin, free_port(), tmp_path, generated=two)
    with running(nginx, at, decides=False):
        assert [path for path in (*OPEN, *PUBLIC, *OPEN) if not is_served(at.port, path)] == []
        assert [path for path in (*CLOSED, *DOUBTFUL, *NEARLY_PUBLIC) if is_served(at.port, path)] == []
