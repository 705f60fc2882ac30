"""Worker processes and their parent: one that dies is replaced and reported, and none outlives its parent."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.faults.harness import Deployment, beside, eventually
from tests.observability.scrape import value

pytestmark = pytest.mark.faults


def deaths(server: Deployment) -> float:
    return value(httpx.get(f"{server.url}/metrics", timeout=60).text, "licensing_worker_deaths_total")


def test_a_worker_that_dies_is_replaced_counted_and_logged_with_the_cause(server: Deployment) -> None:
    before = deaths(server)
    victim = server.all_workers()[0].pid
    os.kill(victim, signal.SIGKILL)
    assert eventually(lambda: deaths(server) == before + 1)
    lines = [line for line in server.log().splitlines() if f"Worker {victim} died" in line]
    assert len(lines) == 1
    assert " WARNING " in lines[0]
    assert "it was ended by SIGKILL" in lines[0]
    assert eventually(lambda: len(server.all_workers()) == server.workers)


def test_workers_without_a_parent_answer_what_they_have_and_leave_the_port(server: Deployment, key: str) -> None:
    with server.client(key, limits=httpx.Limits(max_connections=1)) as client:
        assert client.get("/v1/content").status_code == 200
        assert server.process
        server.process.kill()
        server.process.wait()
        reply = client.get("/v1/content")
        while "close" not in reply.headers.get("connection", ""):
            reply = client.get("/v1/content")
            assert reply.status_code == 200
    assert eventually(lambda: not server.accepts_connections())
    server.start()
    assert len(server.metrics_directories()) == 1  # those of the killed server are gone


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """Mount a file system of 2 MiB. Skips the test without the right to do so."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "licensing-test", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place: Path) -> None:
    """Write to the file system until it has no block left."""
    with suppress(OSError), (place / "fill").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def test_workers_serve_although_the_disk_of_their_metrics_is_full(server: Deployment, tmp_path: Path) -> None:
    place = tmp_path / "data"
    place.mkdir()
    [(key, _)] = server.accounts(1)
    paths = [f"/v1/{name}" for name in ("content", "policies", "licenses", "api-keys", "requesters", "webhooks")]
    with small_disk(place), beside(server, tmp_path, workers=2, valkey=server.valkey, DATA_DIR=str(place)) as second:
        fill(place)
        before = deaths(second)
        with second.client(key) as client:
            assert {client.get(path).status_code for path in paths * 2} == {200}
            assert deaths(second) == before
            os.kill(second.all_workers()[0].pid, signal.SIGKILL)
            assert eventually(lambda: deaths(second) == before + 1)
            assert eventually(lambda: len(second.all_workers()) == second.workers)
            assert {client.get(path).status_code for path in paths * 4} == {200}
        assert deaths(second) == before + 1
    assert "/metrics lacks numbers of this process" in second.log()
    assert "No space left on device" in second.log()
