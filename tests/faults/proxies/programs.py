"""The proxies, each started with its file from deploy/edge, filled in as a publisher would."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from types import MappingProxyType

from run import ROOT
from tests.faults.harness import eventually
from tests.services import free_port

HOST = "pub.example"
KEY = "svc_sk_PUT-THE-KEY-HERE"
NAMED_IN_NGINX = '"~^/(about'  # begins the line of pages that stay open
NPM = Path(__file__).parent / "node_modules" / "@cloudflare" / "workerd-linux-64" / "bin"


@dataclass(frozen=True)
class Place:
    """The ports, the key and the directory of a proxy.

    `keeps_open`: whether /about and /open/ stay open while the service is down, as the files suggest.
    `observes`: whether the file is that of a site which refuses nobody, as it is shipped.
    """

    key: str
    licensing: int
    origin: int
    port: int
    directory: Path
    keeps_open: bool = False
    observes: bool = False
    generated: str = ""  # a site's own file, instead of the one in deploy/edge
    host: str = HOST
    open_paths: str | None = None  # OPEN_PATHS of a Worker, instead of the suggested ones
    behind_cdn: bool = False  # visitors' addresses come in X-Forwarded-For, from 127.0.0.1
    behind_balancer: bool = False  # visitors' addresses come by the PROXY protocol, as from a load balancer
    http_settings: str = ""  # of nginx' http block, which the file inherits

    def filled_in(self, name: str, *pairs: tuple[str, str]) -> str:
        """Return the file of deploy/edge with each first text replaced by the second."""
        text = self.generated or (ROOT / "deploy" / "edge" / name).read_text()
        for given, own in pairs:
            assert given in text, f"{name} lacks {given!r}"
            text = text.replace(given, own)
        return text

    def closed(self, text: str, shipped: str, enforcing: str) -> str:
        """Return the text for a site that enforces, as the comment in the file says."""
        if self.generated or self.observes:
            return text
        assert text.count(shipped) == 1
        return text.replace(shipped, enforcing)

    def opened(self, text: str, first: str, lines: int) -> str:
        """Return the text with the suggested lines for pages that stay open, if any do; `first` begins them."""
        if self.generated:
            return text
        assert f"# {first}" in text
        before, _, after = text.partition(f"# {first}")
        proposed = f"# {first}{after}".split("\n")
        mended = [line.replace("# ", "", 1) for line in proposed[:lines]] if self.keeps_open else proposed[:lines]
        return before + "\n".join([*mended, *proposed[lines:]])

    def written(self, name: str, text: str) -> str:
        (self.directory / name).write_text(text)
        return str(self.directory / name)


def nginx(at: Place) -> list[str]:
    protocol = " proxy_protocol" if at.behind_balancer else ""
    text = at.filled_in(
        "nginx.conf",
        ("server 127.0.0.1:8000", f"server 127.0.0.1:{at.licensing}"),
        ("server 127.0.0.1:8080;", f"server 127.0.0.1:{at.origin};"),
        ("listen 80", f"listen 127.0.0.1:{at.port}{protocol}"),
        ("/var/cache/nginx-licensing", f"{at.directory}/cache"),
        (KEY, at.key),
    )
    text = at.closed(text, "default ask;", "default closed;")
    if at.behind_cdn:
        text = text.replace("# set_real_ip_from 192.0.2.0/24;", "set_real_ip_from 127.0.0.1;")
        text = text.replace("# real_ip_", "real_ip_").replace("# set $access_scheme", "set $access_scheme")
    return nginx_arguments(at, at.opened(text, NAMED_IN_NGINX, 1))


def nginx_arguments(at: Place, text: str) -> list[str]:
    folders = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{name}_temp_path {at.directory}/{name};\n" for name in folders)
    real_ip = "set_real_ip_from 127.0.0.1; real_ip_header proxy_protocol;" if at.behind_balancer else ""
    # Without a master process, SIGTERM stops everything.
    file = at.written(
        "nginx.conf",
        f"daemon off;\nmaster_process off;\npid {at.directory}/pid;\nerror_log {at.directory}/error.log;\n"
        f"events {{}}\nhttp {{ access_log off; {real_ip} {temporary} {at.http_settings} {text} }}\n",
    )
    return ["-c", file, "-p", str(at.directory)]


def cdn(at: Place) -> list[str]:
    """Start an nginx before another proxy, as a CDN: it names the visitor's address in X-Forwarded-For."""
    headers = "proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $proxy_protocol_addr;"
    headers += " proxy_set_header X-Forwarded-Proto $scheme;"
    target = f"proxy_http_version 1.1; proxy_pass http://127.0.0.1:{at.origin};"
    return nginx_arguments(
        at, f"server {{ listen 127.0.0.1:{at.port} proxy_protocol; location / {{ {headers} {target} }} }}"
    )


def caddy(at: Place) -> list[str]:
    text = at.filled_in(
        "Caddyfile",
        ("licensing:8000", f"127.0.0.1:{at.licensing}"),
        ("origin:8080", f"127.0.0.1:{at.origin}"),
        ("{env.LICENSING_KEY}", at.key),
    )
    text = at.closed(at.opened(text, "~^/(about", 1), "\t\tdefault ask", "\t\tdefault closed")
    text = re.sub(r"(?m)^(\S+\.example.*) \{", r"\1 {\n\tbind 127.0.0.1", text)
    text = re.sub(r"(?m)(?:^|(?<=, ))([\w.-]+\.example)(?=[, ].*\{$)", rf"http://\1:{at.port}", text)
    if at.behind_cdn:
        text = text.replace("vars access_scheme {scheme}", "vars access_scheme {header.X-Forwarded-Proto}")
    trusted = (
        "servers { \n trusted_proxies static 127.0.0.1/32 \n trusted_proxies_strict \n}\n" if at.behind_cdn else ""
    )
    wrapper = "servers { \n listener_wrappers { \n proxy_protocol { \n allow 127.0.0.1/32 \n}\n}\n}\n"
    protocol = wrapper if at.behind_balancer else trusted
    file = at.written("Caddyfile", f"{{\n\tadmin off\n\tpersist_config off\n{protocol}}}\n{text}")
    return ["run", "--config", file, "--adapter", "caddyfile"]


def traefik(at: Place) -> list[str]:
    text = at.filled_in(
        "traefik.yml",
        ("licensing:8000", f"127.0.0.1:{at.licensing}"),
        ("origin:8080", f"127.0.0.1:{at.origin}"),
        (KEY, at.key),
    )
    if at.behind_cdn:
        text = text.replace("# trustForwardHeader", "trustForwardHeader")
    pages = text.partition("# PathRegexp(")[2].partition("\n")[0]
    if at.keeps_open:
        text = text.replace("!PathPrefix(`/`)", f"PathRegexp({pages}")
    enforcing = f"PathRegexp({pages}" if at.keeps_open else "!PathPrefix(`/`)"
    text = at.closed(text, "`) && PathPrefix(`/`)", f"`) && {enforcing}")
    questions = f"127.0.0.1:{free_port()}"
    file = at.written("site.yml", text.replace("127.0.0.1:8079", questions))
    protocol = ["--entrypoints.web.proxyprotocol.trustedips=127.0.0.1/32"] if at.behind_balancer else []
    protocol += ["--entrypoints.web.forwardedheaders.trustedips=127.0.0.1/32"] if at.behind_cdn else []
    return [
        *protocol, f"--entrypoints.web.address=127.0.0.1:{at.port}", f"--providers.file.filename={file}",
        f"--entrypoints.licensing.address={questions}",
        "--entrypoints.licensing.forwardedheaders.trustedips=127.0.0.1/32",
        "--entrypoints.licensing.forwardedheaders.notappendxforwardedfor=true",
        "--global.checknewversion=false", "--global.sendanonymoususage=false", "--log.level=ERROR",
    ]  # fmt: skip


def envoy(at: Place) -> list[str]:
    protocol = f"\n      listener_filters: [{PROXY_PROTOCOL}]" if at.behind_balancer else ""
    text = at.filled_in(
        "envoy.yaml",
        ("address: 0.0.0.0, port_value: 80}}", f"address: 127.0.0.1, port_value: {at.port}}}}}{protocol}"),
        ("address: licensing, port_value: 8000", f"address: 127.0.0.1, port_value: {at.licensing}"),
        ("address: origin, port_value: 8080", f"address: 127.0.0.1, port_value: {at.origin}"),
        (KEY, at.key),
        # Envoy waits a second before it closes a connection, which every test would wait for.
        ("stat_prefix: site\n", f"stat_prefix: site\n{16 * ' '}delayed_close_timeout: 0.02s\n"),
    )
    text = at.opened(text, "- match: {safe_regex", 6)
    if at.behind_cdn:
        text = text.replace("# xff_num_trusted_hops", "xff_num_trusted_hops").replace("# skip_xff", "skip_xff")
    others = "- match: {prefix: /}\n" + 26 * " " + "route: {cluster: origin_pub_example}\n"
    file = at.written("envoy.yaml", at.closed(text, f"{others}{26 * ' '}typed_per_filter_config: *ask\n", others))
    return ["-c", file, "--concurrency", "1", "--disable-hot-restart", "--log-level", "error"]


PROXY_PROTOCOL = (
    "{name: envoy.filters.listener.proxy_protocol, typed_config: "
    '{"@type": type.googleapis.com/envoy.extensions.filters.listener.proxy_protocol.v3.ProxyProtocol}}'
)

# At Cloudflare the Worker calls the service over the Internet, and its origin is the zone's.
WORKERD = """
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "site", worker = .site),
    (name = "internet", worker = .internet),
    (name = "licensing", external = (address = "127.0.0.1:%(licensing)s", http = ())),
    (name = "origin", external = (address = "127.0.0.1:%(origin)s", http = ())),
  ],
  sockets = [(name = "http", address = "127.0.0.1:%(port)s", http = (), service = "site")],
);
const site :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  bindings = [
    (name = "LICENSING_URL", text = "http://licensing.example"),
    (name = "LICENSING_KEY", text = "%(key)s"),
    (name = "OPEN_PATHS", text = "%(open_paths)s"),
  ],
  globalOutbound = "internet",
  compatibilityDate = "2026-01-01",
);
const internet :Workerd.Worker = (
  modules = [(name = "internet", esModule = embed "internet.js")],
  bindings = [(name = "LICENSING", service = "licensing"), (name = "ORIGIN", service = "origin")],
  compatibilityDate = "2026-01-01",
);
"""
INTERNET = """
const isForLicensing = (request) => new URL(request.url).hostname === "licensing.example";
export default { fetch: (request, env) => (isForLicensing(request) ? env.LICENSING : env.ORIGIN).fetch(request) };
"""


def workerd(at: Place) -> list[str]:
    at.written("worker.js", at.filled_in("worker.js"))
    at.written("internet.js", INTERNET)
    suggested = r"/(about|open(/[\\w-][\\w.-]*)*)/?" if at.keeps_open else ""
    open_paths = suggested if at.open_paths is None else at.open_paths
    config = WORKERD % {**vars(at), "open_paths": open_paths}
    if at.observes:
        config = config.replace('    (name = "OPEN_PATHS", text = ""),\n', "")
    return ["serve", at.written("config.capnp", config)]


@dataclass(frozen=True)
class Proxy:
    """A proxy program. `down` is the status of replies to visitors while the service is down.

    `merges_slashes`: whether the origin gets `//` as `/`.
    `shows_headers`: whether visitors who are allowed see headers of the service's answer.
    """

    arguments: Callable[[Place], list[str]]
    down: int
    merges_slashes: bool = False
    shows_headers: bool = True

    @property
    def name(self) -> str:
        return self.arguments.__name__

    @property
    def program(self) -> str | None:
        """Find the program in the environment (`NGINX` etc.), beside Python, in npm, or on the system."""
        beside, npm = str(Path(sys.executable).parent), str(NPM)
        found = (shutil.which(self.name, path=path) for path in (beside, npm, None, "/usr/sbin"))
        return os.environ.get(self.name.upper()) or next(filter(None, found), None)


PROXIES = [
    Proxy(nginx, 503),
    Proxy(caddy, 502),
    Proxy(traefik, 503, merges_slashes=True, shows_headers=False),
    Proxy(envoy, 503),
    Proxy(workerd, 503),
]


class Nginx(Proxy):
    name = "nginx"


CDN = Nginx(cdn, 502)


class Balanced(HTTPConnection):
    """A connection of a visitor from that address, which a load balancer passes on."""

    def __init__(self, at: Place, address: str) -> None:
        super().__init__("127.0.0.1", at.port, timeout=5)
        self.address = address

    def connect(self) -> None:
        super().connect()
        self.sock.sendall(f"PROXY TCP4 {self.address} 127.0.0.1 50000 80\r\n".encode())


def status_at(at: Place, path: str) -> int:
    """Return the status of a page. Raises TimeoutError, and another OSError if the proxy does not listen yet."""
    connection = Balanced(at, "127.0.0.1") if at.behind_balancer else HTTPConnection("127.0.0.1", at.port, timeout=5)
    with closing(connection):
        connection.request("GET", path, headers={"Host": at.host})
        return connection.getresponse().status


@contextmanager
def running(
    proxy: Proxy,
    at: Place,
    *,
    decides: bool = True,
    refuses: int | None = None,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[None]:
    """Run the proxy within the block, which begins once the proxy asks its service about /robots.txt.

    `decides`: whether the service can answer that request. `refuses`: the status of everybody whom the proxy's own
    settings refuse. `variables` are added to the environment.
    """
    log = at.directory / "output.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [proxy.program or "", *proxy.arguments(at)],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "HOME": str(at.directory), "XDG_DATA_HOME": str(at.directory), **variables},
        )

    def answers() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            status = status_at(at, "/robots.txt")
        except TimeoutError:
            return not decides
        except ConnectionError:
            return False
        if refuses is not None:
            return status == refuses
        return status == 200 if decides else status != 404

    try:
        assert eventually(answers, 60), log.read_text()
        yield
    finally:
        process.terminate()
        process.wait()
