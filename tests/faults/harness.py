"""The service as it is deployed: a database, `manage.py` commands, and a server process that can be killed."""

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil

from run import ROOT, SETTINGS
from tests.services import Postgres, Valkey, dies_with, free_port

START_SECONDS = 60
logging.getLogger("httpx").setLevel(logging.WARNING)  # a line for each of thousands of requests

# One process for any number of accounts: each costs a command's start otherwise.
MAKE_ACCOUNTS = """
import json, sys, django
django.setup()
from tests import factories
count, fields = json.loads(sys.argv[1])
made = []
for _ in range(count):
    account = factories.account(**fields)
    made.append((account.pk, factories.key_text(account)))
print(json.dumps(made))
"""


def eventually(condition: Callable[[], Any], seconds: float = 20) -> Any:
    """The first true value of the condition; what it last was if there is none in time."""
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return value


def stay_within_the_minute(seconds: float = 8) -> None:
    """Returns with so much of the clock's minute left that a window cannot end during a burst."""
    left = 60 - time.time() % 60
    if left < seconds:
        time.sleep(left + 0.1)


class Deployment:
    """An installation in a directory of its own. `start`, `kill` and `start` again as often as a test likes."""

    def __init__(
        self,
        directory: Path,
        *,
        workers: int = 1,
        postgres: Postgres | None = None,
        valkey: Valkey | None = None,
        database: str = "",
    ) -> None:
        self.directory = directory
        self.postgres, self.valkey = postgres, valkey
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.log_file = directory / "server.log"
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in SETTINGS},
            "DATA_DIR": str(directory),
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "WORKERS": str(workers),
            "DATABASE_URL": database or (postgres.url if postgres else ""),
            "REDIS_URL": valkey.url if valkey else "",
            "TRUSTED_PROXIES": "127.0.0.1",  # a test can come from many addresses, by X-Forwarded-For
            "DJANGO_SETTINGS_MODULE": "config.settings",
        }

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    # --- Commands ----------------------------------------------------------------------------------------------------

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, *command],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=START_SECONDS,
        )

    def manage(self, *command: str) -> dict[str, Any]:
        """What a command of the project answers to `--json`."""
        done = self.run("manage.py", *command, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    def migrate(self) -> None:
        done = self.run("manage.py", "migrate", "--verbosity", "0")
        assert done.returncode == 0, done.stderr

    def accounts(self, count: int, **fields: Any) -> list[tuple[str, str]]:
        """New accounts, each as its id and a key that may do everything; fields as in tests.factories."""
        done = self.run("-c", MAKE_ACCOUNTS, json.dumps([count, fields]))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    # --- The server --------------------------------------------------------------------------------------------------

    def launch(self) -> None:
        """Starts `manage.py serve` and does not wait for it."""
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "serve"],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # its processes are one group, which `kill` ends at one stroke
                preexec_fn=dies_with(os.getpid(), signal.SIGTERM),  # noqa: PLW1509 - two system calls
            )

    def start(self) -> None:
        """The server, ready; one that runs is left as it is."""
        if self.postgres:
            self.postgres.start()
        if self.valkey:
            self.valkey.start()
        if self.process is None or self.process.poll() is not None:
            self.launch()
        assert eventually(self.is_ready, START_SECONDS), f"The server did not start:\n{self.log()[-3000:]}"

    def is_ready(self) -> bool:
        assert self.process
        assert self.process.poll() is None, f"The server ended:\n{self.log()[-3000:]}"
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200
        return False

    def kill(self) -> None:
        """kill -9 of every process of the server, and until the last of them has let go of the port."""
        if self.process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        eventually(lambda: not self.accepts_connections())

    def restart(self) -> None:
        self.kill()
        self.start()

    def accepts_connections(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False

    def log(self) -> str:
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    # --- Clients -----------------------------------------------------------------------------------------------------

    def client(self, key: str, **options: Any) -> httpx.Client:
        """A client whose every request opens a new connection, so that any worker may get it."""
        limits = httpx.Limits(max_keepalive_connections=0)
        return httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {key}"},
            **{"limits": limits, "timeout": 30, **options},
        )

    def client_of_each_worker(self, key: str, attempts: int = 80) -> list[httpx.Client]:
        """Clients with one lasting connection each, to different worker processes, as many as were found.

        A server may close a connection that was idle for some seconds, and the next may lead to another worker.
        """
        found: dict[int, httpx.Client] = {}
        others: list[httpx.Client] = []
        for _ in range(attempts):
            client = self.client(key, limits=httpx.Limits(max_connections=1))
            reply = client.get("/livez")
            local_port = reply.extensions["network_stream"].get_extra_info("client_addr")[1]
            worker = self.worker_behind(local_port)
            if worker is None or worker in found:
                others.append(client)  # kept open, so that a server that balances its connections turns to others
            else:
                found[worker] = client
            if len(found) == int(self.environment["WORKERS"]):
                break
        for client in others:
            client.close()
        return list(found.values())

    def worker_behind(self, local_port: int) -> int | None:
        """The process that holds the other end of a connection from that port."""
        assert self.process
        parent = psutil.Process(self.process.pid)
        for process in (*parent.children(recursive=True), parent):
            with suppress(psutil.NoSuchProcess):
                if any(peer.raddr and peer.raddr.port == local_port for peer in process.net_connections("tcp")):
                    return process.pid
        return None


@contextmanager
def deployed(directory: Path, **options: Any) -> Iterator[Deployment]:
    """A migrated installation with its server running; whatever happens, the server ends with the block."""
    deployment = Deployment(directory, **options)
    try:
        deployment.migrate()
        deployment.start()
        yield deployment
    finally:
        deployment.kill()
