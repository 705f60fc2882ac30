"""The project's virtual environment and its packages."""

import fcntl
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launcher.processes import ROOT, RunError, must, works
from launcher.progress import PackageCount, Progress

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
RUNTIME, DOCS, DEV = "requirements.txt", "requirements-docs.txt", "requirements-dev.txt"
ARCHIVE = "requirements-archive.txt"
EXTRAS = (ARCHIVE,)  # what an installation had once, it keeps
HOLDS = {  # a lock has the pins of these, too
    RUNTIME: {RUNTIME},
    ARCHIVE: {RUNTIME, ARCHIVE},
    DOCS: {RUNTIME, DOCS},
    DEV: {RUNTIME, DOCS, ARCHIVE, DEV},
}


@contextmanager
def setup_lock() -> Iterator[Path]:
    """Allow only one set-up at a time. The locked file is also the stamp: digests of the installed locks, and the
    names of the extras among them, which outlive a new version of the lock.
    """
    ours = not VENV.exists() or (VENV / "setup.lock").exists()
    VENV.mkdir(exist_ok=True)
    with (VENV / "setup.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another run.py is setting up; waiting for it.", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = Path(lock.name)
        # Without digests a set-up was cut short, maybe within a package. What run.py did not make is only added to.
        if ours and not (digests_in(stamp) and PYTHON.exists()):
            for path in set(VENV.iterdir()) - {stamp}:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        yield stamp


def digest(lock: str) -> str:
    return hashlib.sha256((ROOT / lock).read_bytes()).hexdigest()


def digests_in(stamp: Path) -> set[str]:
    return set(stamp.read_text().split()) - set(EXTRAS)


def extras_in(stamp: Path) -> set[str]:
    return set(stamp.read_text().split()) & set(EXTRAS)


def install_runtime(stamp: Path, *extras: str) -> None:
    """Install what the service needs, with these extras and those that the installation had."""
    install(stamp, RUNTIME)
    for extra in sorted({*extras, *extras_in(stamp)}):
        install(stamp, extra)


def install(stamp: Path, lock: str) -> None:
    # The import fails where another Python took the place of the one .venv was made with.
    before, extras = digests_in(stamp), extras_in(stamp) | ({lock} & set(EXTRAS))
    if digest(lock) in before and works(PYTHON, "-c", "import django"):
        stamp.write_text("\n".join(before | extras))
        return
    stamp.write_text("\n".join(extras))
    with Progress(f"Installing {lock} into .venv …") as progress:
        count = PackageCount(progress, len(re.findall(r"^\S+==", (ROOT / lock).read_text(), re.MULTILINE)))
        command = (*installer(), "install", "--require-hashes", "-r", ROOT / lock)
        must(f"Installing {lock}", *command, read=count.read)
    still = before & set(map(digest, HOLDS))
    stamp.write_text("\n".join(still | set(map(digest, HOLDS[lock])) | extras))


def installer() -> list[str | Path]:
    """Return the start of a pip command that installs into .venv, creating .venv if needed."""
    own: list[str | Path] = [PYTHON, "-m", "pip", "--disable-pip-version-check"]
    if works(*own, "--version"):
        return own
    # Asked first: without ensurepip Debian's `venv` fails half-way.
    if works(sys.executable, "-c", "import ensurepip; ensurepip.version()"):
        must("Making .venv", sys.executable, "-m", "venv", VENV)
        return own
    must("Making .venv", sys.executable, "-m", "venv", "--without-pip", VENV)
    other: list[str | Path] = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", PYTHON]
    if works(*other, "--version"):
        return other
    index = os.environ.get("PIP_INDEX_URL", "")
    if uv := shutil.which("uv"):
        os.environ["VIRTUAL_ENV"] = str(VENV)
        if index:
            os.environ.setdefault("UV_DEFAULT_INDEX", index)
        return [uv, "pip"]
    raise RunError(
        "this Python has neither ensurepip nor pip, and there is no uv. Install one of them (on Debian:"
        " apt install python3-venv), and run this again."
    )
