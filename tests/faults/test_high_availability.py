"""The containers of deploy/high-availability, with the steps of docs/guides/fail-over.md.

Docker is not needed: what each container runs, its environment and its files are taken from compose.yaml and run on
loopback addresses, with the PostgreSQL and Valkey of the other tests.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import yaml

from run import ROOT
from tests import templates
from tests.documentation.blocks import block
from tests.faults.harness import Deployment, eventually
from tests.faults.ledger import Ledger
from tests.faults.traffic import statuses
from tests.services import Postgres, Valkey, free_port
from tests.services.server import directory

pytestmark = pytest.mark.faults
FOLDER = ROOT / "deploy" / "high-availability"
GUIDE = "docs/guides/fail-over.md"
CONFIGURATION = "/etc/postgresql"  # in the containers of database nodes
SECRETS = {"POSTGRES_PASSWORD": "s3cret", "SECRET_KEY": "k" * 50, "API_KEY_PEPPER": "p" * 50}
ADDRESSES = {"db1": "127.0.0.2", "db2": "127.0.0.3"}
COMMITS_THAT_WAIT = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
RATE = 150  # requests a second for each service


def services(variables: dict[str, str]) -> dict[str, Any]:
    """Return the services of compose.yaml with these variables. Raises KeyError if a required one is missing."""

    def value(match: re.Match[str]) -> str:
        name, default = match[1], match[3] if match[2] == ":-" else None
        return variables[name] if default is None else variables.get(name, default)

    text = re.sub(r"\$\{(\w+)(:[-?])?([^}]*)\}", value, (FOLDER / "compose.yaml").read_text())
    made: dict[str, Any] = yaml.safe_load(text)["services"]
    return made


class Node(Postgres):
    """A database node, run by the entry point of its container."""

    def __init__(self, place: Path, name: str, port: int, container: dict[str, Any]) -> None:
        super().__init__(place, [])
        self.name, self.port, self.address = name, port, ADDRESSES[name]
        mounted = place / "etc"
        mounted.mkdir()
        for file in (FOLDER / "postgresql").iterdir():
            (mounted / file.name).write_text(file.read_text().replace(CONFIGURATION, str(mounted)))
        with (mounted / "postgresql.conf").open("a") as config:
            config.write(f"listen_addresses = '{self.address}'\nunix_socket_directories = '{place}'\nfsync = off\n")
        self.entry = [part.replace(CONFIGURATION, str(mounted)) for part in container["entrypoint"]]
        self.default = container["command"]
        self.variables = environment_of(container, port) | {
            "PGDATA": str(place / "data"),
            "PGPORT": str(port),
            "PATH": f"{self.binaries}:{os.environ['PATH']}",
        }

    @property
    def url(self) -> str:
        return f"postgresql://licensing:{SECRETS['POSTGRES_PASSWORD']}@{self.address}:{self.port}/licensing"

    def command(self) -> list[str]:
        return [*self.entry, *self.default]

    def execute(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the container."""
        return subprocess.run(
            command,
            cwd=self.directory,
            env=self.environment() | {"PGHOST": str(self.directory)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            **self.as_user,
        )

    def run_once(self, action: str) -> subprocess.CompletedProcess[str]:
        """Run a container of the node with another command."""
        return self.execute(*self.entry, action)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return what `psql` in the container would."""
        inside = f"host={self.directory} port={self.port} user=postgres dbname=licensing"
        with psycopg.connect(inside, autocommit=True) as connection:
            return connection.execute(query).fetchall()  # type: ignore[call-overload,no-any-return]


def environment_of(container: dict[str, Any], port: int) -> dict[str, str]:
    """Return the container's variables; one without a value is the caller's, who has not set it."""
    given = container["environment"].items()
    return {name: on_loopback(value, port) for name, value in given if value is not None}


def on_loopback(text: str, port: int) -> str:
    """Replace the nodes' names in a setting by their addresses."""
    text = text.replace(":5432", f":{port}")
    return re.sub(r"(?<=[=@,])db[12]\b", lambda name: ADDRESSES[name[0]], text)


class Containers:
    """The containers of compose.yaml as local processes, which `docker compose` commands start and stop."""

    def __init__(self, place: Path, stack: ExitStack) -> None:
        self.described = services(SECRETS)
        port = free_port()
        self.nodes: dict[str, Node] = {}
        for name in ADDRESSES:
            self.nodes[name] = Node(stack.enter_context(directory()), name, port, self.described[name])
            stack.callback(self.nodes[name].kill)
        [program, *options] = self.described["valkey"]["command"]
        assert program == "valkey-server"
        self.valkey = Valkey(stack.enter_context(directory()), options)
        stack.callback(self.valkey.kill)
        self.services: dict[str, Deployment] = {}
        (place / "data").mkdir(mode=0o700)
        for name in ("service1", "service2"):
            (place / name).mkdir()
            environment = environment_of(self.described[name], port)
            environment |= {"REDIS_URL": self.valkey.url, "DATA_DIR": str(place / "data")}
            self.services[name] = Deployment(place / name, **environment)
            stack.callback(self.services[name].close)

    def follow(self, printed: str) -> None:
        """Run the printed `docker compose` commands one after the other."""
        for line in printed.splitlines():
            done = self.run(shlex.split(line))
            assert done is None or done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"

    def run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
        match command:
            case ["docker", "compose", "run", "--rm", node, action]:
                return self.nodes[node].run_once(action)
            case ["docker", "compose", "exec", node, *rest]:
                return self.nodes[node].execute(*rest)
            case ["docker", "compose", "stop", node]:
                self.nodes[node].stop()
            case ["docker", "compose", "rm", "--stop", "--force", node]:
                self.nodes[node].kill()
            case ["docker", "volume", "rm", volume]:
                shutil.rmtree(self.nodes[volume.partition("_")[2]].directory / "data")
            case ["docker", "compose", "up", "--detach", "--build"]:
                self.start_all()
            case ["docker", "compose", "up", "--detach", node]:
                self.nodes[node].start()
            case _:
                raise AssertionError(command)
        return None

    def start_all(self) -> None:
        for server in (*self.nodes.values(), self.valkey):
            server.start()
        with templates.one_at_a_time():
            templates.fill_on_postgresql(self.nodes["db1"].url)  # as the migrations would, but faster
        service = self.services["service1"]
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        migrate = self.described["migrate"]["command"]
        subprocess.run(migrate, cwd=ROOT, env={**service.environment, "PATH": path}, check=True, timeout=120)
        for service in self.services.values():
            service.launch()
        for service in self.services.values():
            service.start()


@pytest.fixture(scope="module")
def containers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Containers]:
    """Everything, started as printed."""
    with ExitStack() as stack:
        started = Containers(tmp_path_factory.mktemp("containers"), stack)
        started.follow(block(GUIDE, "docker compose run --rm db1 create").partition("docker compose exec service1")[0])
        yield started


def readiness(service: Deployment) -> tuple[int, str]:
    reply = httpx.get(f"{service.url}/readyz", timeout=30)
    return reply.status_code, reply.json()["checks"]["database"]


def standby_of(node: Node) -> tuple[str, ...] | None:
    """Return what the guide's query says of the standby."""
    [query] = re.findall(r'--command "(.*)"', block(GUIDE, 'docker compose exec db1 psql --command "SELECT'))
    found = node.rows(query)
    return found[0][:3] if found else None


def roles(containers: Containers) -> tuple[Node, Node]:
    """Return the primary and the standby that has all of its commits."""
    one, other = containers.nodes.values()
    primary, standby = (one, other) if one.rows("SELECT pg_is_in_recovery()") == [(False,)] else (other, one)
    assert eventually(lambda: standby_of(primary) == (standby.name, "streaming", "sync"))
    return primary, standby


def step(first: str, primary: Node) -> str:
    """Return the guide's commands that begin so, for this node as the primary; they are printed for db1."""
    printed = block(GUIDE, first)
    return printed if primary.name == "db1" else printed.translate(str.maketrans("12", "21"))


def test_a_missing_secret_is_named():
    text = (FOLDER / "compose.yaml").read_text()
    assert set(re.findall(r"\$\{(\w+):\?", text)) == set(SECRETS)


@pytest.mark.parametrize("rejoining", ["docker compose run --rm db1 rejoin", "docker compose rm"])
def test_promoting_the_standby_under_load_loses_no_answered_decision(containers: Containers, rejoining: str):
    """Then the old primary becomes the standby: rewound, or copied anew."""
    old, new = roles(containers)
    servers = list(containers.services.values())
    ledgers = [Ledger(server, server.accounts(1)[0][0]) for server in servers]
    with ledgers[0].load(per_second=RATE) as first, ledgers[1].load(per_second=RATE) as second:
        loads = (first, second)
        for load in loads:
            load.wait_for(150)
        old.kill()
        assert eventually(lambda: readiness(servers[0])[1] in ("unreachable", "read_only"))
        before, cause = readiness(servers[0])
        containers.follow(step("docker compose stop", old))
        promoted = time.monotonic()
        containers.follow(step("docker compose exec db2 pg_ctl promote", old))
        for load in loads:
            load.wait_for_success(50)
        print(f"served {time.monotonic() - promoted:.1f} s after the promotion")  # pytest shows it with -rP
        after = [readiness(server) for server in servers]
        refused = old.run_once("start")
        containers.follow(step(rejoining, old))
        assert eventually(lambda: standby_of(new) == (old.name, "streaming", "async"))
        containers.follow(step('docker compose exec db2 psql --command "ALTER SYSTEM RESET', old))
        assert eventually(lambda: standby_of(new) == (old.name, "streaming", "sync"))

    assert before == 503
    assert cause in ("unreachable", "read_only")
    assert after == [(200, "ok")] * 2
    assert refused.returncode == 1
    assert f"docker compose run --rm {old.name} rejoin" in refused.stderr
    for ledger, load in zip(ledgers, loads, strict=True):
        assert set(statuses(load.replies)) <= {200, 503}
        assert load.refused == 0
        assert ledger.discrepancies() == []


def test_without_the_standby_commits_wait_until_the_primary_is_told_to_go_on_alone(containers: Containers):
    primary, standby = roles(containers)
    server = containers.services["service1"]
    ledger = Ledger(server, server.accounts(1)[0][0])
    with ledger.load(per_second=RATE) as load:
        load.wait_for(100)
        standby.kill()
        assert eventually(lambda: primary.rows(COMMITS_THAT_WAIT)[0][0] > 0)
        waiting = len(load.exchanges)
        assert eventually(lambda: primary.rows(COMMITS_THAT_WAIT)[0][0] > 1)
        assert readiness(server) == (200, "ok")
        assert 200 not in statuses(load.replies[waiting:])
        containers.follow(step('docker compose exec db1 psql --command "ALTER SYSTEM SET', primary))
        load.wait_for_success(50)
        standby.start()
        assert eventually(lambda: standby_of(primary) == (standby.name, "streaming", "async"))
        containers.follow(step('docker compose exec db1 psql --command "ALTER SYSTEM RESET', primary))
        assert eventually(lambda: standby_of(primary) == (standby.name, "streaming", "sync"))
    assert ledger.discrepancies() == []


def test_neither_the_service_nor_the_standby_is_a_superuser(containers: Containers):
    primary, _ = roles(containers)
    query = "SELECT rolname::text, rolsuper, rolcanlogin FROM pg_roles WHERE rolcanlogin ORDER BY rolname"
    assert primary.rows(query) == [("licensing", False, True), ("postgres", True, True), ("replicator", False, True)]
    with pytest.raises(psycopg.OperationalError, match=r"pg_hba\.conf rejects"):
        psycopg.connect(primary.url.replace("licensing:", "postgres:", 1))
    with psycopg.connect(primary.url) as service, pytest.raises(psycopg.errors.InsufficientPrivilege):
        service.execute("SET session_replication_role = replica")


def test_no_second_database_is_made(containers: Containers):
    for node in containers.nodes.values():
        assert node.run_once("create").returncode == 1
