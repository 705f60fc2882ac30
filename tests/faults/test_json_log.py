"""With LOG_FORMAT=json each line that `manage.py serve` writes is a JSON object."""

import json
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tests.faults.harness import SERVE, Deployment, eventually

pytestmark = pytest.mark.faults


@pytest.fixture
def json_server(server: Deployment) -> Iterator[Deployment]:
    """The deployment, started again with LOG_FORMAT=json and an empty log."""
    server.kill()
    server.log_file.write_bytes(b"")
    server.environment["LOG_FORMAT"] = "json"
    try:
        server.start()
        yield server
    finally:
        del server.environment["LOG_FORMAT"]
        server.kill()


def entries(log: str) -> list[dict[str, Any]]:
    """Parse each line of a log. Raises ValueError if one is not JSON."""
    return [json.loads(line) for line in log.splitlines()]


def test_each_line_from_the_first_to_the_last_is_json(json_server: Deployment) -> None:
    assert eventually(lambda: "Serving on http://" in json_server.log())
    refused = json_server.python(*SERVE)  # the port is in use
    assert refused.returncode == 1
    [error] = [entry for entry in entries(refused.stdout + refused.stderr) if entry["level"] == "ERROR"]
    assert f"Port {json_server.port} of 127.0.0.1 cannot be used" in error["message"]

    assert json_server.process
    json_server.process.send_signal(signal.SIGTERM)
    json_server.process.wait(60)
    log = entries(json_server.log())
    assert all({"time", "level", "logger", "message", "request_id"} <= set(entry) for entry in log)
    assert [entry["level"] for entry in log if entry["message"].startswith("Serving on http://")] == ["INFO"]
