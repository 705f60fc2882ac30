"""The file for nginx works beside usual settings of the http block, and beside restrictions of the server's own."""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.documentation.blocks import block
from tests.faults.harness import eventually
from tests.faults.proxies.origin import Quiet, serving
from tests.faults.proxies.pages import CRAWLER, reply_of, status_of, visited
from tests.faults.proxies.programs import Place, running
from tests.services import free_port

ERRORS = "proxy_intercept_errors on; recursive_error_pages on; error_page 401 403 500 502 503 504 =200 /open/sorry;"
CACHE = (
    "proxy_cache_path {directory}/pages keys_zone=pages:1m; proxy_cache pages; proxy_cache_valid any 5m; "
    "proxy_cache_use_stale error timeout updating http_500 http_503; proxy_cache_lock on; expires 1d;"
)
# Each is valid by itself; nginx compares them with those of each location.
BUFFERS = [
    "proxy_buffer_size 128k; proxy_buffers 4 256k; proxy_busy_buffers_size 256k;",
    "proxy_buffer_size 8k; proxy_buffers 8 8k; proxy_busy_buffers_size 8k;",
    "proxy_buffer_size 4k; proxy_buffers 8 4k; proxy_temp_file_write_size 8k; proxy_max_temp_file_size 8k;",
]
RESTRICTIONS = "satisfy any; allow 127.0.0.1; deny all;"
STAFF = f"Authorization: Basic {b64encode(b'staff:secret').decode()}\r\n"
EACH_KIND = ("/open/a", "/licensed/a", "/robots.txt", "/license.xml")  # of page


class Failing(Quiet):
    """An origin whose pages answer with the status that they are named by."""

    def serve(self) -> None:
        status = int(name) if (name := self.path.rpartition("/")[2]).isdecimal() else 200
        challenge = {"WWW_Authenticate": 'Basic realm="origin"'} if status == 401 else {}
        self.answer(status, f"of the origin: {self.path}".encode(), **challenge)


@pytest.fixture(scope="module")
def failing() -> Iterator[int]:
    with serving(Failing) as port:
        yield port


def place(key: str, service: int, origin: int, directory: Path, settings: str) -> Place:
    return Place(key, service, origin, free_port(), directory, http_settings=settings.format(directory=directory))


def test_errors_of_the_origin_reach_the_visitor_although_the_server_intercepts_errors(
    nginx, server, publisher, failing, tmp_path
):
    at = place(publisher.edge_key, server.port, failing, tmp_path, ERRORS)
    with running(nginx, at):
        replies = {status: reply_of(at.port, f"/open/{status}") for status in (401, 403, 404, 500, 503)}
        refused = reply_of(at.port, "/licensed/a")
    for status, reply in replies.items():
        assert (status_of(reply), f"of the origin: /open/{status}".encode() in reply) == (status, True)
    assert b'\r\nwww-authenticate: basic realm="origin"\r\n' in replies[401]
    assert status_of(refused) == 402
    assert b'"code":"no_license"' in refused


@pytest.mark.parametrize("settings", [ERRORS, CACHE, RESTRICTIONS, f"{ERRORS} {CACHE}"])
def test_no_inherited_setting_opens_a_closed_page_or_keeps_it_closed_after_an_outage(
    settings, nginx, server, publisher, failing, tmp_path
):
    at = place(publisher.edge_key, server.port, failing, tmp_path, settings)
    with running(nginx, at):
        assert status_of(reply_of(at.port, "/licensed/a")) == 402
        server.kill()
        try:
            statuses = [status_of(reply_of(at.port, path)) for path in ("/licensed/b", "/open/b", "/license.xml")]
        finally:
            server.start()
        assert statuses == [503, 503, 503]
        # After three failures the service is not asked for ten seconds.
        assert eventually(lambda: status_of(reply_of(at.port, "/license.xml")) == 200, 30)
        assert b"max-age=86400" not in reply_of(at.port, "/license.xml")
        assert [status_of(reply_of(at.port, path)) for path in ("/licensed/b", "/open/b")] == [402, 200]


@pytest.mark.parametrize("status", [301, 401, 403, 404])
@pytest.mark.parametrize("settings", [ERRORS, f"{ERRORS} {CACHE}"])
def test_no_inherited_setting_opens_a_closed_page_by_what_another_server_answers(
    settings, status, nginx, failing, tmp_path
):
    asked = []

    class Another(Quiet):
        def serve(self) -> None:
            asked.append(self.path)
            self.answer(status)

    with serving(Another) as port:
        at = replace(place("svc_sk_x", port, failing, tmp_path, settings), keeps_open=True)
        with running(nginx, at, decides=False):
            asked.clear()
            replies = [visited(at.port, path, CRAWLER) for path in EACH_KIND[:3]]
    assert [(status_of(reply), b"of the origin: " in reply) for reply in replies] == [
        (200, True),
        (503, False),
        (200, True),
    ]
    assert len(asked) == len(replies)


@pytest.mark.parametrize("buffers", BUFFERS)
def test_the_file_loads_beside_any_size_of_buffers(buffers, nginx, server, publisher, failing, tmp_path):
    at = place(publisher.edge_key, server.port, failing, tmp_path, buffers)
    with running(nginx, at):
        assert [status_of(reply_of(at.port, path)) for path in ("/licensed/b", "/open/b")] == [402, 200]


def test_a_password_of_the_server_is_asked_for_on_every_page_and_readers_tokens_count_behind_it(
    nginx, server, publisher, failing, tmp_path
):
    (tmp_path / "passwords").write_text("staff:{PLAIN}secret\n")
    protected = f'auth_basic "staging"; auth_basic_user_file {tmp_path}/passwords;'
    at = place(publisher.edge_key, server.port, failing, tmp_path, protected)
    with running(nginx, at, refuses=401):
        asked = {path: reply_of(at.port, path) for path in EACH_KIND}
        replies = [status_of(reply_of(at.port, path, headers=STAFF)) for path in EACH_KIND]
    for path, reply in asked.items():
        assert (path, status_of(reply)) == (path, 401)
        assert b'\r\nwww-authenticate: basic realm="staging"\r\n' in reply
    assert replies == [200, 402, 200, 200]


def test_a_restriction_of_the_server_refuses_with_a_page(nginx, server, publisher, failing, tmp_path):
    at = place(publisher.edge_key, server.port, failing, tmp_path, "deny all;")
    with running(nginx, at, refuses=403):
        for path in ("/open/a", "/licensed/a"):
            reply = reply_of(at.port, path)
            assert (status_of(reply), b"403 forbidden" in reply, b"of the origin" in reply) == (403, True, False)


def test_restrictions_of_which_one_is_to_be_enough_are_all_required_on_each_page(
    nginx, server, publisher, failing, tmp_path
):
    (tmp_path / "passwords").write_text("staff:{PLAIN}secret\n")
    either = f'satisfy any; deny all; auth_basic "staging"; auth_basic_user_file {tmp_path}/passwords;'
    at = place(publisher.edge_key, server.port, failing, tmp_path, either)
    with running(nginx, at, refuses=403):
        assert [status_of(reply_of(at.port, path, headers=STAFF)) for path in EACH_KIND] == [403] * len(EACH_KIND)


@pytest.mark.parametrize(("addresses", "without"), [("127.0.0.1", [200, 402, 200, 200]), ("127.0.0.2", [401] * 4)])
def test_an_address_can_stand_in_for_the_password(addresses, without, nginx, server, publisher, failing, tmp_path):
    (tmp_path / "passwords").write_text("staff:{PLAIN}secret\n")
    printed = block("docs/reference/edge.md", "geo $staging")
    either = printed.replace("198.51.100.0/24", addresses).replace("/etc/nginx", str(tmp_path))
    at = Place(publisher.edge_key, server.port, failing, free_port(), tmp_path, http_settings=either)
    with running(nginx, at, refuses=None if without[0] == 200 else 401):
        assert [status_of(reply_of(at.port, path)) for path in EACH_KIND] == without
        assert [status_of(reply_of(at.port, path, headers=STAFF)) for path in EACH_KIND] == [200, 402, 200, 200]
