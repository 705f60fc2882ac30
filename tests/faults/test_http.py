"""A real server: chunked bodies, refusal to start, and its log."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.faults.harness import START_SECONDS, Deployment, eventually

pytestmark = pytest.mark.faults


def chunks(content: bytes, size: int) -> Iterator[bytes]:
    """Yield a body that httpx sends chunked, because its length is unknown."""
    for begin in range(0, len(content), size):
        yield content[begin : begin + size]


def test_two_workers_without_redis_are_refused_at_start(tmp_path: Path) -> None:
    deployment = Deployment(tmp_path, workers=2)
    deployment.launch()
    assert deployment.process
    try:
        assert deployment.process.wait(START_SECONDS) != 0
    finally:
        deployment.kill()

    assert "WORKERS=2 needs REDIS_URL" in deployment.log()
    assert "Traceback" not in deployment.log()


def test_the_address_is_printed_once_it_answers(server: Deployment) -> None:
    eventually(lambda: "Serving on http://" in server.log())
    log = server.log()
    assert log.index("Application startup complete") < log.index("Serving on http://")


def test_a_chunked_body_works_like_any_other(server: Deployment, key: str) -> None:
    with server.client(key) as client:
        created = client.post("/v1/content", content=chunks(b'{"title": "In chunks"}', 5))
        assert (created.status_code, created.json()["title"]) == (201, "In chunks")

        path = f"/v1/content/{created.json()['id']}"
        patched = client.patch(path, content=chunks(b'{"title": "Again in chunks"}', 7))
        assert (patched.status_code, patched.json()["title"]) == (200, "Again in chunks")

        check = chunks(b'{"contentId": "%s", "requester": "org_acme"}' % created.json()["id"].encode(), 9)
        assert client.post("/v1/access/check", content=check).json()["reason"] == "no_policy"


def test_a_connection_is_used_again_after_an_error(server: Deployment, key: str) -> None:
    with server.client(key, limits=httpx.Limits(max_connections=1)) as client:
        for _ in range(3):
            refused = client.post("/v1/content", content=chunks(b'{"title": ', 3))
            assert (refused.status_code, refused.json()["error"]["code"]) == (400, "invalid_request")
            assert client.get("/v1/content").status_code == 200


def test_neither_the_log_nor_the_data_holds_the_text_of_a_key(server: Deployment, key: str) -> None:
    with server.client(key) as client:
        idempotent = {"Idempotency-Key": "once"}
        created = client.post("/v1/api-keys", json={"name": "n", "type": "secret"}, headers=idempotent).json()
        rotated = client.post(f"/v1/api-keys/{created['id']}/rotate", json={}).json()
        texts = [key, created["key"], rotated["key"]]
        for text in texts:
            bearer = {"Authorization": f"Bearer {text}"}
            client.get("/v1/content", headers=bearer)
            client.get(f"/v1/content?key={text}", headers=bearer)
            client.post("/v1/content", json={"title": text, "no such field": text}, headers=bearer)
            client.post("/v1/access/check", json={"contentId": text, "requester": "org"}, headers=bearer)

    kept = {path.name: path.read_bytes() for path in server.directory.iterdir() if path.is_file()}
    assert "server.log" in kept
    assert [(name, text) for name, content in kept.items() for text in texts if text.encode() in content] == []
