"""The documentation site that the service serves under /docs/."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout, suppress
from io import StringIO
from threading import Thread
from time import sleep

from launcher.installing import DOCS, PYTHON, install, setup_lock
from launcher.processes import ROOT, RunError, run_step

BUILD_RECORD = ROOT / "site" / "build.json"
SOURCE_PATTERNS = (
    "zensical.toml",
    "*.md",
    "docs/**/*",
    "deploy/**/*",
)  # nearly all; `build_docs --if-changed` knows all
DOCS_ARGUMENT = (
    "docs-beside"  # run.py's argument for building the site beside the service with the process id that follows
)


def is_current() -> bool:
    """Return whether no source is newer than the site. A release has its site built."""
    if not BUILD_RECORD.exists():
        return False
    newest = max(path.stat().st_mtime for pattern in SOURCE_PATTERNS for path in ROOT.glob(pattern))
    return BUILD_RECORD.stat().st_mtime >= newest


def build_docs() -> None:
    """Build the site if its sources changed. Without one the service runs, and /docs/ says how to build it.

    No set-up waits for a build, only for the installation of its packages.
    """
    if is_current():
        return
    try:
        with setup_lock() as stamp:
            install(stamp, DOCS)
        # A set-up by root must not make files where the service keeps its own.
        with tempfile.TemporaryDirectory() as data:
            build = "Building the documentation", PYTHON, "manage.py", "build_docs", "--if-changed"
            run_step(*build, env={**os.environ, "DATA_DIR": data, "DATABASE_URL": ""})
        BUILD_RECORD.touch()
    except RunError as error:
        print(f"The pages of /docs/ were not built: {error}", file=sys.stderr)


def start_building_docs() -> None:
    """Build the site in another process once the service answers. This process is about to become the service."""
    if not is_current():
        print("The pages of /docs/ are built in the background once the service answers.", flush=True)
        command = [sys.executable, str(ROOT / "run.py"), DOCS_ARGUMENT, str(os.getpid())]
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL)


def build_docs_beside(service: int) -> None:
    """Build the site, after the service with this process id answers and only while it runs."""
    Thread(target=end_with_service, args=(service,), daemon=True).start()
    host = os.environ.get("HOST") or "127.0.0.1"
    port = os.environ.get("PORT") or "8000"
    while not accepts_connections(host, port):
        sleep(1)
    os.nice(10)
    with redirect_stdout(StringIO()):  # the terminal shows what the service prints
        build_docs()


def end_with_service(service: int) -> None:
    """Let this process end as soon as its parent, the service, has ended."""
    while os.getppid() == service:
        sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)


def accepts_connections(host: str, port: str) -> bool:
    with suppress(OSError, ValueError), socket.create_connection((host, int(port)), timeout=5):
        return True
    return False
