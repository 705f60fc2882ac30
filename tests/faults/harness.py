"""The service as deployed: a database, commands, and a server process that can be killed."""

import json
import logging
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import httpx
import psutil
import psycopg
from django.conf import settings

from launcher.testing import SETTINGS
from run import ROOT
from tests import templates
from tests.services import Postgres, Valkey, dies_with, eventually, free_port, postgres, unprivileged_child, valkey

T = TypeVar("T")
START_SECONDS = 600  # for a busy machine; a server that exited fails at once
SERVE = ("manage.py", "serve")
REFUSE_NEW_ROWS = """
    CREATE FUNCTION refuse_new_rows() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$;
    CREATE TRIGGER refuse_new_rows BEFORE INSERT ON analytics_accessevent
        FOR EACH ROW EXECUTE FUNCTION refuse_new_rows()
"""
# The table is locked before its partitions, as inserts lock them; dropping alone would lock a partition first.
TAKE_NEW_ROWS = "LOCK TABLE analytics_accessevent; DROP FUNCTION refuse_new_rows CASCADE"
logging.getLogger("httpx").setLevel(logging.WARNING)  # a line for each of thousands of requests


def within_a_minute(server: "Deployment", burst: Callable[[str, str], T]) -> T:
    """Return the result of `burst`, called with two keys of a new account with 60 requests a minute.

    Repeat if a clock minute ended meanwhile, so that all requests share a rate limit window.
    """
    for _ in range(5):
        [(key, other)] = server.accounts(1, plan="starter")
        minute = time.time() // 60
        found = burst(key, other)
        if time.time() // 60 == minute:
            return found
    raise AssertionError("A minute of the clock ended during each of five bursts.")


class Api(httpx.Client):
    """A client with a key of an account."""

    def create(self, path: str, **body: Any) -> str:
        """Create a resource and return its id."""
        reply = self.post(path, json=body)
        assert reply.status_code == 201, reply.text
        return str(reply.json()["id"])

    def policy(self, *rules: dict[str, Any], **fields: Any) -> str:
        return self.create("/v1/policies", **{"name": "Policy", "rules": rules, **fields})

    def item(self, *rules: dict[str, Any]) -> str:
        """Create an item under a new policy with these rules; by default everything is allowed."""
        from tests.factories import ALLOW_ALL  # benchmarks import this module without Django's models

        return self.create("/v1/content", title="Item", policyId=self.policy(*(rules or [ALLOW_ALL])))

    def check(self, item: str, requester: Any = "org_acme", **fields: Any) -> httpx.Response:
        return self.post("/v1/access/check", json={"contentId": item, "requester": requester, **fields})

    def page(self, path: str, **query: Any) -> Any:
        """Repeat a GET until the service has recovered; return its JSON."""
        reply = eventually(lambda: (found := self.get(path, params=query)).status_code == 200 and found)
        assert reply, path
        return reply.json()

    def rows(self, path: str, **query: Any) -> list[dict[str, Any]]:
        """Return the rows of all pages of a list."""
        query = {"limit": 100, **query}
        rows: list[dict[str, Any]] = []
        while True:
            page = self.page(path, **query)
            rows += page["data"]
            if not page["hasMore"]:
                return rows
            query["cursor"] = page["nextCursor"]


class Deployment:
    """An installation in its own directory, which can be started and killed repeatedly."""

    def __init__(
        self,
        directory: Path,
        *,
        workers: int = 1,
        postgres: Postgres | None = None,
        valkey: Valkey | None = None,
        checkout: Path = ROOT,
        program: Sequence[str] = SERVE,
        **further: str,  # settings
    ) -> None:
        self.directory, self.checkout, self.program = directory, checkout, program
        self.workers = workers
        self.postgres, self.valkey = postgres, valkey
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.shell: subprocess.Popen[str] | None = None
        self.startups_before = 0
        self.log_file = directory / "server.log"
        # If everything must be compiled first, a start takes three times as long.
        dropped = {*SETTINGS, "PYTHONDONTWRITEBYTECODE"}
        self.environment = {
            **{name: value for name, value in os.environ.items() if name not in dropped},
            "DATA_DIR": str(directory),
            "DOCS_SITE": str(directory / "site"),
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "WORKERS": str(workers),
            "DATABASE_URL": postgres.url if postgres else "",
            "REDIS_URL": valkey.url if valkey else "",
            "TRUSTED_PROXIES": "127.0.0.1",  # a test can come from many addresses, by X-Forwarded-For
            "DJANGO_SETTINGS_MODULE": "config.settings",
            **further,
        }

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask_shell(self, action: str, *arguments: Any, **fields: Any) -> Any:
        if self.shell is None:
            self.shell = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.shell"],
                cwd=self.checkout,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
                preexec_fn=dies_with(os.getpid(), signal.SIGKILL),  # noqa: PLW1509 - two system calls
            )
        assert self.shell.stdin
        assert self.shell.stdout
        print(
            json.dumps({"action": action, "arguments": arguments, "fields": fields}), file=self.shell.stdin, flush=True
        )
        reply = json.loads(self.shell.stdout.readline())
        assert "error" not in reply, reply["error"]
        return reply["result"]

    def manage(self, *command: str) -> dict[str, Any]:
        """Return a manage.py command's JSON output."""
        return json.loads(self.ask_shell("manage", *command, "--json").splitlines()[-1])

    def python(self, *arguments: str, **further: str) -> "subprocess.CompletedProcess[str]":
        """Run Python to its end with the installation's settings and `further` ones; return its output."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.checkout, env={**self.environment, **further}, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def migrate(self) -> None:
        """Create the database tables."""
        if self.postgres:
            with templates.one_at_a_time():
                templates.fill_on_postgresql(self.postgres.url)
        else:
            templates.copy_of_sqlite(self.directory / "db.sqlite3")

    def rows(self, query: str) -> list[tuple[object, ...]]:
        """Return rows of the database, bypassing the service."""
        if self.postgres:
            with psycopg.connect(self.postgres.url) as connection:
                return connection.execute(query).fetchall()
        with closing(sqlite3.connect(self.directory / "db.sqlite3")) as database:
            return database.execute(query).fetchall()

    def change(self, statement: str) -> None:
        """Run SQL on the database, bypassing the service."""
        if self.postgres:
            with psycopg.connect(self.postgres.url) as connection:
                connection.execute(statement)
            return
        with closing(sqlite3.connect(self.directory / "db.sqlite3", timeout=20)) as database, database:
            database.execute(statement)

    def accounts(self, count: int, **fields: Any) -> list[tuple[str, str]]:
        """Create accounts and return two keys with all permissions for each; `fields` as in tests.factories."""
        return [(first, second) for _, first, second in self.ask_shell("accounts", count, **fields)]

    def launch(self, program: Sequence[str] = ()) -> None:
        """Start the program, or its own, without waiting for it. Even root's has no privileges, as in production."""
        self.startups_before = self.log().count("Application startup complete")
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *(program or self.program)],
                cwd=self.checkout,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # its processes form one group, which `kill` ends as a whole
                preexec_fn=unprivileged_child(os.getpid(), signal.SIGTERM),  # noqa: PLW1509 - system calls
            )

    def start(self, program: Sequence[str] = ()) -> None:
        """Start the server if it is not running, and wait until it is ready."""
        if self.postgres:
            self.postgres.start()
        if self.valkey:
            self.valkey.start()
        if self.process is None or self.process.poll() is not None:
            self.launch(program)
        assert eventually(self.is_ready, START_SECONDS), f"The server did not start:\n{self.log()[-3000:]}"

    def is_ready(self) -> bool:
        assert self.process
        assert self.process.poll() is None, f"The server ended:\n{self.log()[-3000:]}"
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200
        return False

    def kill(self) -> None:
        """Kill all server processes with SIGKILL, and wait until the port is free."""
        if self.process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        eventually(lambda: not self.accepts_connections())

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop every process of the server. Requests wait, and their senders may give up."""
        assert self.process
        server = psutil.Process(self.process.pid)
        processes = [server, *server.children(recursive=True)]
        os.killpg(self.process.pid, signal.SIGSTOP)
        try:
            assert eventually(lambda: all(one.status() == psutil.STATUS_STOPPED for one in processes))
            yield
        finally:
            os.killpg(self.process.pid, signal.SIGCONT)

    def close(self) -> None:
        self.kill()
        if self.shell:
            self.shell.kill()
            self.shell.communicate()

    def restart(self) -> None:
        self.kill()
        self.start()

    def accepts_connections(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False

    def let_files_grow_to(self, size: int | None) -> None:
        """Make database writes beyond this file size in bytes fail, as on a full disk; None lifts it. On Linux."""
        owner = (self.postgres or self).process
        assert owner
        parent = psutil.Process(owner.pid)
        self.limit(parent, size)  # before listing its children: later ones inherit the limit
        for process in parent.children(recursive=True):
            self.limit(process, size)

    @contextmanager
    def full_disk(self) -> Iterator[None]:
        """Refuse new decisions within the block, as on a full disk. PostgreSQL only."""
        self.change(REFUSE_NEW_ROWS)
        try:
            yield
        finally:
            self.change(TAKE_NEW_ROWS)

    def limit(self, process: psutil.Process, size: int | None) -> None:
        command = ["prlimit", f"--pid={process.pid}", f"--fsize={size or 'unlimited'}:"]
        # As their own user, because even root may not be allowed.
        done = subprocess.run(
            command, capture_output=True, check=False, **(self.postgres.as_user if self.postgres else {})
        )
        assert done.returncode == 0 or not process.is_running()

    def metrics_directories(self) -> list[Path]:
        return list(self.directory.glob("metrics-*"))

    def log(self) -> str:
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def client(self, key: str, **options: Any) -> Api:
        """Return a client that opens a new connection for every request, so any worker may get it."""
        limits = httpx.Limits(max_keepalive_connections=0)
        return Api(
            base_url=self.url,
            headers={"Authorization": f"Bearer {key}"},
            **{"limits": limits, "timeout": 30, **options},
        )

    @contextmanager
    def client_of_each_worker(self, key: str) -> Iterator[list[Api]]:
        """Yield a client for each worker process, with one keep-alive connection.

        A server may close an idle connection after some seconds; the next may then reach another worker.
        """
        clients: list[Api] = []
        try:
            for _ in self.each_worker_alone():
                clients.append(self.client(key, limits=httpx.Limits(max_connections=1)))
                assert clients[-1].get("/livez").status_code == 200
            yield clients
        finally:
            for client in clients:
                client.close()

    def each_worker_alone(self) -> Iterator[int]:
        """Yield workers by process id; pause the others so that they accept no connections."""
        workers = eventually(self.all_workers)
        assert workers, f"Not all of the {self.workers} workers run:\n{self.log()[-3000:]}"
        for worker in workers:
            others = [other for other in workers if other != worker]
            for other in others:
                other.suspend()
            try:
                yield worker.pid
            finally:
                for other in others:
                    other.resume()

    def all_workers(self) -> list[psutil.Process]:
        """Wait for all listening processes and return them."""
        assert self.process
        parent = psutil.Process(self.process.pid)
        listening = [process for process in (parent.children() if self.workers > 1 else [parent]) if listens(process)]
        # Uvicorn's children have the socket before they can answer.
        started = self.log().count("Application startup complete") - self.startups_before
        return listening if len(listening) == self.workers and started >= self.workers else []


def listens(process: psutil.Process) -> bool:
    try:
        return any(end.status == psutil.CONN_LISTEN for end in process.net_connections("tcp"))
    except psutil.NoSuchProcess:  # it exited after it was listed
        return False


@contextmanager
def deployed(directory: Path, **options: Any) -> Iterator[Deployment]:
    """Yield a migrated installation with its server running, and always stop it."""
    deployment = Deployment(directory, **options)
    try:
        deployment.migrate()
        deployment.start()
        yield deployment
    finally:
        deployment.close()


@contextmanager
def separate(
    directory: Path, *, workers: int = 2, variables: Mapping[str, str] = MappingProxyType({}), **further: Any
) -> Iterator[Deployment]:
    """Yield an installation with servers of its own: on SQLite one process, on PostgreSQL several and a Valkey.

    `further` are settings, and `program`. PostgreSQL gets the `variables`, too.
    """
    if not settings.DATABASES["default"]["ENGINE"].endswith("postgresql"):
        with deployed(directory, **variables, **further) as deployment:
            yield deployment
        return
    with (
        # kill -9 is no power cut, so no fsync. Small log files, so that they fit where table files no longer do.
        postgres(fsync=False, wal_segment_megabytes=1, variables=variables) as database,
        valkey() as redis,
        deployed(directory, workers=workers, postgres=database, valkey=redis, **variables, **further) as deployment,
    ):
        yield deployment


@contextmanager
def beside(server: Deployment, directory: Path, **further: Any) -> Iterator[Deployment]:
    """Yield another installation on the same database and with the same secret, as on another machine."""
    secret = (server.directory / "secret_key").read_text().strip()
    with closing(Deployment(directory, **{"postgres": server.postgres, "SECRET_KEY": secret, **further})) as other:
        other.start()
        yield other
