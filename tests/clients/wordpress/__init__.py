"""Debian's WordPress with the plugin, on PHP's own server and a MariaDB of its own.

WORDPRESS and MARIADBD name them if they are elsewhere. Skipped, with a reason, if they are not installed; required in
CI.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from run import ROOT
from tests.documentation.blocks import block
from tests.documentation.running import ran
from tests.faults.harness import eventually
from tests.services import dies_with, free_port

HERE = Path(__file__).parent
PLUGIN = ROOT / "clients" / "wordpress" / "content-access-licensing.php"
PROGRAMS = Path(os.environ.get("WORDPRESS", "/usr/share/wordpress"))
GUIDE = "docs/guides/wordpress.md"
OPEN_PATHS = "/(about|free/[a-z0-9%-]+)/"
HOST = "pub.example"
SECRET = "the-text-that-is-sold"
CONFIG = """<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:%(socket)s');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
$table_prefix = 'wp_';
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('WP_ACCESSIBLE_HOSTS', '127.0.0.1');
%(guide)s
defined('ABSPATH') || define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""
ROUTER = """<?php
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH) ?: '/';
if (preg_match('#^/(wp-(login|admin|includes|content)|ads[.]txt$)#', $path) && is_file(__DIR__ . $path)) {
    return false;
}
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = '/index.php';
require __DIR__ . '/index.php';
"""


def missing() -> str:
    """Return what is missing to run WordPress; empty if nothing."""
    if not (PROGRAMS / "wp-load.php").exists():
        return "WordPress is not installed: `apt-get install wordpress`, or set WORDPRESS to its folder"
    if not (PROGRAMS / "wp-content" / "themes" / "twentytwentythree").exists():
        return "WordPress lacks its theme: `apt-get install wordpress-theme-twentytwentythree`"
    if mariadbd() is None:
        return "MariaDB is not installed: `apt-get install mariadb-server-core`, or set MARIADBD to its program"
    php = shutil.which("php")
    if php is None or "mysqli" not in subprocess.check_output([php, "-m"], text=True):
        return "PHP has no mysqli: `apt-get install php-cli php-mysql`"
    return ""


def mariadbd() -> str | None:
    return os.environ.get("MARIADBD") or shutil.which("mariadbd", path=f"{os.environ['PATH']}:/usr/sbin")


@dataclass(frozen=True)
class WordPress:
    """A running WordPress; `posts` are the ids of its posts by name."""

    port: int
    posts: dict[str, int]
    log: Path
    config: Path

    def evaluated(self, code: str) -> str:
        """Return what the code prints in WordPress, as a plugin would run it."""
        (self.config.parent / "code.php").write_text(f"<?php\nrequire __DIR__ . '/wp-load.php';\n{code}\n")
        return ran("php", self.config.parent / "code.php", cwd=self.config.parent, HTTP_HOST=HOST, REQUEST_URI="/")

    @contextmanager
    def configured(self, **constants: str | None) -> Iterator[None]:
        """Define constants of wp-config.php differently, or further ones; None leaves one out."""
        before = changed = self.config.read_text()
        for name, value in constants.items():
            line = "" if value is None else f"define('{name}', '{value}');"
            changed, count = re.subn(rf"define\('{name}', .*\);", lambda _, line=line: line, changed)
            if count == 0:
                changed = changed.replace("<?php", f"<?php\n{line}", 1)
        self.config.write_text(changed)
        try:
            yield
        finally:
            self.config.write_text(before)

    def client(self, **headers: str) -> httpx.Client:
        url = f"http://127.0.0.1:{self.port}"
        sent = {"Host": HOST, "User-Agent": "Mozilla/5.0", "Accept": "*/*", **headers}
        return httpx.Client(base_url=url, headers=sent, timeout=60, trust_env=False)


@contextmanager
def started(*command: object, log: Path) -> Iterator[None]:
    with log.open("ab") as output:
        process = subprocess.Popen(
            list(map(str, command)),
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PHP_CLI_SERVER_WORKERS": "2"},
            start_new_session=True,
            preexec_fn=dies_with(os.getpid(), 15),  # noqa: PLW1509 - two system calls
        )
    try:
        yield
    finally:
        os.killpg(process.pid, 15)
        process.wait()


@contextmanager
def wordpress(
    directory: Path, url: str, key: str, *, enforces: bool = True, categories: Iterable[str] = ()
) -> Iterator[WordPress]:
    """Run a WordPress whose plugin asks the service at `url`; with the constant of sites that enforce, or without.

    It has a post in each of the categories, and in `free` and `premium`.
    """
    if reason := missing():
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"No test of WordPress ran: {reason}.")
    site, data, socket = directory / "site", directory / "data", directory / "db.sock"
    shutil.copytree(
        PROGRAMS, site, ignore=shutil.ignore_patterns("wp-config.php", ".htaccess"), ignore_dangling_symlinks=True
    )
    data.mkdir()
    shutil.copy(PLUGIN, site / "wp-content" / "plugins")
    service = block(GUIDE, "define('CONTENT_LICENSING_URL'")
    guide = service.replace("https://licensing.example", url).replace("svc_sk_…", key)
    if enforces:
        guide += block(GUIDE, "define('CONTENT_LICENSING_OPEN_PATHS'").replace("/.*", OPEN_PATHS)
    (site / "wp-config.php").write_text(CONFIG % {"socket": socket, "guide": guide})
    (site / "router.php").write_text(ROUTER)
    (site / "ads.txt").write_text("advertising.example, 1, DIRECT\n")
    (site / "wp-content" / "mu-plugins").mkdir()
    for own in ("shows_requester", "post_types", "clock", "page_cache", "prints", "own_robots"):
        shutil.copy(HERE / f"{own}.php", site / "wp-content" / "mu-plugins")
    filters = [block(GUIDE, f"add_filter('content_licensing_{name}'") for name in ("requester", "address")]
    (site / "wp-content" / "mu-plugins" / "guide.php").write_text("\n".join(["<?php", *filters]))
    log, port = directory / "output.log", free_port()
    database = [
        mariadbd(), "--no-defaults", f"--datadir={data}", f"--socket={socket}", f"--pid-file={directory}/db.pid",
        "--skip-networking", "--skip-grant-tables", "--innodb-buffer-pool-size=16M", "--user=root",
        *([f"--lc-messages-dir={messages}"] if (messages := os.environ.get("MARIADB_MESSAGES")) else []),
    ]  # fmt: skip
    with started(*database, log=log):
        assert eventually(socket.exists, 60), log.read_text()
        output = ran("php", HERE / "install.php", site, socket, SECRET, *categories, cwd=HERE)
        posts = {name: int(number) for name, number in re.findall(r"^([\w-]+)=(\d+)$", output, re.MULTILINE)}
        fresh = ("-d", "opcache.revalidate_freq=0")  # a changed wp-config.php counts at once
        with started("php", *fresh, "-S", f"127.0.0.1:{port}", "-t", site, site / "router.php", log=log):
            made = WordPress(port, posts, log, site / "wp-config.php")
            with made.client() as client:
                assert eventually(lambda: answers(client), 60), log.read_text()
            yield made


def answers(client: httpx.Client) -> bool:
    try:
        return client.get("/wp-includes/images/blank.gif").status_code == 200
    except httpx.ConnectError:
        return False


def log_in(visit: httpx.Client, name: str = "ada") -> None:
    visit.get("/wp-login.php")
    login = visit.post("/wp-login.php", data={"log": name, "pwd": "secret", "testcookie": "1"})
    assert login.status_code == 302, login.text
