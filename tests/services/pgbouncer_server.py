"""PgBouncer, the PostgreSQL connection pooler, from the system's package."""

import shutil
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.services.postgres_server import Postgres
from tests.services.server import Server, UnavailableError, directory

PROGRAM = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


class PgBouncer(Server):
    name = "PgBouncer"
    stop_signals = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def install(self) -> Path:
        if PROGRAM is None:
            raise UnavailableError("pgbouncer is not installed.")
        return Path(PROGRAM).parent

    def configure(self, server: Postgres, pool_mode: str, sessions: int) -> None:
        (self.directory / "users").write_text('"postgres" ""\n')
        (self.directory / "pgbouncer.ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={server.port} user=postgres\n"
            f"[pgbouncer]\npool_mode = {pool_mode}\nauth_type = trust\nauth_file = {self.directory}/users\n"
            "listen_addr = 127.0.0.1\nunix_socket_dir =\nmax_client_conn = 500\n"
            f"default_pool_size = {sessions}\n"
        )

    def command(self) -> list[str]:
        # Choose another port if it was taken meanwhile.
        settings = self.directory / "pgbouncer.ini"
        kept = [line for line in settings.read_text().splitlines() if not line.startswith("listen_port")]
        settings.write_text("\n".join([*kept, f"listen_port = {self.port}", ""]))
        return [str(self.binaries / "pgbouncer"), str(settings)]

    def is_ready(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False


@contextmanager
def pgbouncer(server: Postgres, pool_mode: str, sessions: int = 100) -> Iterator[PgBouncer]:
    """Run PgBouncer before a PostgreSQL server, pooling by `session` or `transaction`."""
    with directory() as path:
        pooler = PgBouncer(path, [])
        pooler.configure(server, pool_mode, sessions)
        try:
            pooler.start_anywhere()
            yield pooler
        finally:
            pooler.kill()
