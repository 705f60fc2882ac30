"""An export that fails half-way is visibly cut off."""

import httpx
import pytest

from kit.rest.export import CHUNK
from tests.faults.harness import Deployment

pytestmark = pytest.mark.faults

ROWS = 3 * CHUNK


@pytest.fixture
def titles(server: Deployment, key: str) -> list[str]:
    """Return the titles of the account's items, in list order."""
    items = [{"title": f"Item {number}"} for number in range(ROWS)]
    with server.client(key) as client:
        for first in range(0, ROWS, CHUNK):
            body = {"items": items[first : first + CHUNK]}
            assert client.post("/v1/content/bulk", json=body).status_code == 200
    return [item["title"] for item in reversed(items)]


def test_a_row_that_cannot_be_read_breaks_the_transfer(server: Deployment, key: str, titles: list[str]) -> None:
    no_moment = "-infinity" if server.postgres else "0000-99-99 00:00:00"
    server.change(f"UPDATE licensing_content SET created = '{no_moment}' WHERE title = '{titles[-1]}'")  # noqa: S608
    headers = {"X-Request-Id": "req_of_the_test", "Accept-Encoding": "identity"}
    received: list[bytes] = []
    with server.client(key) as client, client.stream("GET", "/v1/content?format=jsonl", headers=headers) as reply:
        with pytest.raises(httpx.RemoteProtocolError):
            received.extend(reply.iter_bytes())
        assert reply.status_code == 200
    assert 0 < len(b"".join(received).splitlines()) < ROWS
    assert "The reply to GET /v1/content broke off" in server.log()
    assert "ERROR uvicorn.error [req_of_the_test]" in server.log()
