"""nginx asks a service behind another reverse proxy, by TLS, both configured as the documentation says."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from run import ROOT
from tests.documentation.blocks import block
from tests.faults.proxies.pages import FROM_THE_ORIGIN, reply_of, status_of
from tests.faults.proxies.programs import Nginx, Place, nginx_arguments, running
from tests.outbound.receivers import certificate_of
from tests.services import free_port

API, HOST_LINE = "api.publisher.example", "proxy_set_header Host $host;"
LINES = block("docs/reference/edge.md", f"proxy_set_header Host {API};")
LONGEST = f"/searched/{'a' * 8_165}"  # of the paths that nginx takes; the service refuses it
LONG_TEXTS = {
    "name": "報" * 100,
    "refusalMessage": "報" * 500,
    "linkLabel": "報" * 60,
    "linkUrl": f"https://pub.example/{'a' * 480}",
}


def reverse_proxy(at: Place) -> list[str]:
    """Return the arguments of the nginx before the service. It has a certificate, and refuses other hosts."""
    locations = block("docs/guides/deployment.md", "large_client_header_buffers").replace(
        "127.0.0.1:8000", f"127.0.0.1:{at.licensing}"
    )
    listen = f"listen 127.0.0.1:{at.port} ssl"
    certificate = f"ssl_certificate {at.directory}/certificate.pem; ssl_certificate_key {at.directory}/key.pem;"
    others = f"server {{ {listen} default_server; return 421; }}"
    return nginx_arguments(at, f"{certificate} server {{ {listen}; server_name {API}; {locations} }} {others}")


@contextmanager
def served_by_tls(service: int, directory: Path) -> Iterator[int]:
    """Yield the port of a reverse proxy before the service. The directory has its certificate."""
    directory.mkdir()
    certificate_of(API, directory)
    at = Place("", service, 0, free_port(), directory)
    with running(Nginx(reverse_proxy, 502), at, decides=False):
        yield at.port


def file_with(lines: str) -> str:
    """Return the file of a site that enforces and keeps /open/ open, with the lines in both locations."""
    text = (ROOT / "deploy" / "edge" / "nginx.conf").read_text().replace("http://service_", "https://service_")
    text = text.replace("default ask;", "default closed;").replace('# "~^/(about', '"~^/(about')
    before, _, after = text.rpartition(HOST_LINE)
    return f"{before}{lines}{after}".replace("location = /_access {", f"location = /_access {{\n{lines}")


@pytest.mark.parametrize(
    ("lines", "trusted", "statuses"),
    [
        (LINES, "tls", [403, 200, 200, 400]),
        (HOST_LINE, "tls", [503, 200, 421, 503]),
        (LINES, "nobody", [503, 200, 503, 503]),
    ],
    ids=["documented", "another host", "unknown certificate"],
)
def test_nginx_reaches_the_service_by_the_documented_lines_and_no_other_server(
    lines, trusted, statuses, nginx, site, publisher, origin, tmp_path
):
    (tmp_path / "nobody").mkdir()
    certificate_of(API, tmp_path / "nobody")
    site.patch(f"/sites/{publisher.site_id}", json=LONG_TEXTS).raise_for_status()
    try:
        with served_by_tls(int(site.base_url.port or 0), tmp_path / "tls") as port:
            own = lines.replace("/etc/ssl/certs/ca-certificates.crt", f"{tmp_path}/{trusted}/certificate.pem")
            at = Place(publisher.edge_key, port, origin, free_port(), tmp_path, generated=file_with(own))
            with running(nginx, at, decides=False):
                paths = ("/searched/a", "/open/a", "/license.xml", LONGEST)
                replies = [reply_of(at.port, path, headers="Accept: text/html\r\n") for path in paths]
    finally:
        site.patch(f"/sites/{publisher.site_id}", json=dict.fromkeys(LONG_TEXTS)).raise_for_status()
    assert [status_of(reply) for reply in replies] == statuses
    refused, opened, terms, _ = replies
    assert FROM_THE_ORIGIN in opened
    assert (LONG_TEXTS["linkUrl"].encode() in refused, b"<rsl" in terms) == (statuses[0] == 403, statuses[2] == 200)
