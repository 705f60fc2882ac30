"""Body size limits apply before reading: low for unauthenticated clients; large bodies do not stay in memory."""

import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest
from django.urls import reverse

from tests.faults.harness import Deployment, eventually
from tests.faults.traffic import Reply

pytestmark = pytest.mark.faults

KIB, MIB = 1024, 1024 * 1024
IMPORT = reverse("admin:licensing_content_import_items")
IMPORT_LOG = reverse("admin:licensing_site_import_log", args=["site_unknown"])
TOO_LARGE = 413


@contextmanager
def connection(server: Deployment, head: str, *headers: str) -> Iterator[socket.socket]:
    lines = [f"{head} HTTP/1.1", "Host: localhost", *headers, "", ""]
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as opened:
        opened.sendall("\r\n".join(lines).encode())
        yield opened


def reply_on(opened: socket.socket) -> Reply:
    received = b""
    while not (reply := Reply.parse(received)).status:
        part = opened.recv(65_536)
        assert part, received
        received += part
    return reply


def test_a_stranger_is_refused_by_the_length_alone(server: Deployment) -> None:
    for size in (64 * KIB + 1, MIB, 20 * MIB):
        for path in ("/", "/nowhere", "/docs/", "/admin/login/", IMPORT, "/v1"):
            with connection(server, f"POST {path}", f"Content-Length: {size}") as opened:
                reply = reply_on(opened)

            assert (path, reply.status, reply.body["error"]["code"]) == (path, TOO_LARGE, "request_too_large")

    with connection(server, "POST /", f"Content-Length: {MIB}", "Accept: text/html,*/*;q=0.8") as opened:
        reply = reply_on(opened)

    assert (reply.status, reply.headers["content-type"]) == (TOO_LARGE, "text/html; charset=utf-8")
    assert b"<h1>Too large</h1>" in reply.content
    with connection(server, "POST /", f"Content-Length: {MIB}", "Expect: 100-continue") as opened:
        assert reply_on(opened).status == TOO_LARGE
        assert opened.recv(1) == b""


def test_no_more_is_read_than_a_stranger_may_send_and_nothing_without_a_key(server: Deployment) -> None:
    for path in ("/", "/admin/login/", IMPORT):
        with connection(server, f"POST {path}", "Transfer-Encoding: chunked") as opened:
            for _ in range(5):
                opened.sendall(b"4000\r\n" + bytes(16 * KIB) + b"\r\n")
            assert reply_on(opened).status == TOO_LARGE

    for path in ("/v1/content", "/v1/access/check"):
        with connection(server, f"POST {path}", f"Content-Length: {MIB}") as opened:
            reply = reply_on(opened)

        assert (reply.status, reply.body["error"]["code"]) == (401, "missing_api_key")


def test_the_connection_of_a_body_that_was_refused_can_be_used_again(server: Deployment) -> None:
    with connection(server, "POST /", f"Content-Length: {MIB}") as opened:
        assert reply_on(opened).status == TOO_LARGE
        opened.sendall(bytes(MIB) + b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert reply_on(opened).status == 200


@pytest.mark.parametrize(
    ("path", "has_key", "status"),
    [
        ("/v1/content", True, TOO_LARGE),
        ("/v1/access/check", True, TOO_LARGE),
        ("/v1/content", False, 401),
        ("/", False, TOO_LARGE),
    ],
)
@pytest.mark.parametrize("size", [50 * MIB, 200 * MIB])
def test_a_client_that_sends_a_large_body_before_reading_gets_the_reply(server, key, path, has_key, status, size):
    headers = ["Content-Type: application/json", f"Content-Length: {size}"]
    if has_key:
        headers.append(f"Authorization: Bearer {key}")
    with connection(server, f"POST {path}", *headers) as opened:
        send_zeros(opened, size)
        assert reply_on(opened).status == status


def send_zeros(opened: socket.socket, size: int) -> None:
    for _ in range(size // MIB):
        opened.sendall(bytes(MIB))


def token_in(page: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert found
    return found[1]


@pytest.fixture
def operator(server: Deployment) -> Iterator[httpx.Client]:
    """A signed-in browser on the import page."""
    name = f"op{server.ask_shell('accounts', 1)[0][0][-8:]}"
    password = server.manage("create_operator", name, "--superuser")["password"]
    with httpx.Client(base_url=server.url, timeout=30, headers={"Host": "localhost"}) as client:
        form = {"username": name, "password": password, "code": "", "next": "/admin/"}
        token = token_in(client.get("/admin/login/").text)
        signed_in = client.post("/admin/login/", data={**form, "csrfmiddlewaretoken": token})
        assert signed_in.status_code == 302, signed_in.text[:2000]
        yield client


def cookies_of(operator: httpx.Client) -> str:
    return "; ".join(f"{name}={value}" for name, value in operator.cookies.items())


def bring(operator: httpx.Client, path: str, size: int) -> httpx.Response:
    fields = {"csrfmiddlewaretoken": operator.cookies["csrftoken"]}
    return operator.post(path, data=fields, files={"file": ("items.csv", b"externalId,title\n".ljust(size, b"a"))})


def test_an_operator_brings_a_file_which_does_not_stay_in_memory(server: Deployment, operator: httpx.Client) -> None:
    for _ in range(6):  # so that each process has loaded everything that it loads once
        bring(operator, IMPORT, MIB)
    before = memory_of(server)
    replies = [bring(operator, IMPORT, 20 * MIB) for _ in range(2)]

    assert [reply.status_code for reply in replies] == [200, 200]  # the form again: it names no account
    assert "This field is required" in replies[0].text
    assert memory_of(server) - before < 20 * MIB


def test_operators_bring_20_mib_of_items_or_logs_and_2_mib_of_other_forms(operator: httpx.Client) -> None:
    assert bring(operator, IMPORT_LOG, 20 * MIB).status_code == 404  # by the page, for the site
    for path, command in ((IMPORT, "import_content"), (IMPORT_LOG, "import_access_log")):
        reply = bring(operator, path, 21 * MIB)
        assert reply.status_code == TOO_LARGE
        assert "larger than 20 MiB" in reply.json()["error"]["message"]
        assert command in reply.json()["error"]["message"]
    for size, status in ((MIB, 200), (3 * MIB, TOO_LARGE)):
        fields = {"csrfmiddlewaretoken": operator.cookies["csrftoken"], "name": "a" * size}
        assert operator.post("/admin/licensing/policy/add/", data=fields).status_code == status


@pytest.mark.parametrize("path", [IMPORT, "/admin/licensing/policy/add/"])
def test_an_operator_who_sends_all_of_a_large_file_before_reading_gets_the_reply(server, operator, path):
    headers = (f"Cookie: {cookies_of(operator)}", f"Content-Length: {50 * MIB}")
    with connection(server, f"POST {path}", *headers) as opened:
        send_zeros(opened, 50 * MIB)
        reply = reply_on(opened)
    assert reply.status == TOO_LARGE
    assert "is larger than" in reply.body["error"]["message"]


def test_a_session_that_has_ended_brings_nothing(server: Deployment, operator: httpx.Client) -> None:
    cookies = cookies_of(operator)
    operator.post("/admin/logout/", data={"csrfmiddlewaretoken": operator.cookies["csrftoken"]})

    with connection(server, f"POST {IMPORT}", f"Cookie: {cookies}", f"Content-Length: {MIB}") as opened:
        assert reply_on(opened).status == TOO_LARGE


@pytest.mark.skipif(not Path("/proc").exists(), reason="shows which files a process has open on Linux alone")
def test_nothing_is_left_on_the_disk_of_uploads_that_break_off(server: Deployment, operator: httpx.Client) -> None:
    uploads = Path(server.directory) / "uploads"
    with connection(
        server, f"POST {IMPORT}", f"Cookie: {cookies_of(operator)}", f"Content-Length: {10 * MIB}"
    ) as opened:
        opened.sendall(bytes(5 * MIB))
        assert eventually(lambda: files_of(server, uploads))
    assert eventually(lambda: not files_of(server, uploads))


def files_of(server: Deployment, directory: Path) -> list[str]:
    links = [link for process in processes_of(server) for link in Path(f"/proc/{process.pid}/fd").iterdir()]
    return [name for name in map(target, links) if name.startswith(str(directory))]


def processes_of(server: Deployment) -> list[psutil.Process]:
    """Return all processes of the service, which has several workers on PostgreSQL."""
    assert server.process
    parent = psutil.Process(server.process.pid)
    return [parent, *parent.children(recursive=True)]


def memory_of(server: Deployment) -> int:
    """Return the memory in bytes, which is what the test is about; it compares two states of the same processes."""
    return sum(process.memory_info().rss for process in processes_of(server))


def target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:  # closed by the server
        return ""
