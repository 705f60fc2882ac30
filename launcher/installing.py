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

from launcher.processes import ROOT, RunError, call, run_step, succeeds
from launcher.progress import PackageCount, Progress

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
RUNTIME = "requirements.txt"
DOCS = "requirements-docs.txt"
DEV = "requirements-dev.txt"
ARCHIVE = "requirements-archive.txt"
EXTRAS = (ARCHIVE,)  # what an installation had once, it keeps
INCLUDED_LOCKS = {  # a lock has the pins of these, too
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
    is_own_venv = not VENV.exists() or (VENV / "setup.lock").exists()
    VENV.mkdir(exist_ok=True)
    with (VENV / "setup.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another run.py is setting up; waiting for it.", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = Path(lock.name)
        # Without digests a set-up was cut short, maybe within a package. What run.py did not make is only added to.
        if is_own_venv and not (digests_in(stamp) and PYTHON.exists()):
            for path in set(VENV.iterdir()) - {stamp}:
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
        yield stamp


def digest(lock: str) -> str:
    return hashlib.sha256((ROOT / lock).read_bytes()).hexdigest()


def digests_in(stamp: Path) -> set[str]:
    return set(stamp.read_text().split()) - set(EXTRAS)


def extras_in(stamp: Path) -> set[str]:
    return set(stamp.read_text().split()) & set(EXTRAS)


def install_runtime(stamp: Path, *extras: str, is_trial: bool = False) -> None:
    """Install what the service needs, with these extras and those that the installation had.

    A trial starts sooner: it has no pip of its own, and compiles only what is imported.
    """
    install(stamp, RUNTIME, is_trial=is_trial)
    for extra in sorted({*extras, *extras_in(stamp)}):
        install(stamp, extra)


def install(stamp: Path, lock: str, *, is_trial: bool = False) -> None:
    if not (ROOT / lock).exists():
        raise RunError(f"{lock} is not here. A release has no tests: use a checkout.")
    # The import fails where another Python took the place of the one .venv was made with.
    digests = digests_in(stamp)
    extras = extras_in(stamp) | ({lock} & set(EXTRAS))
    if digest(lock) in digests and succeeds(PYTHON, "-c", "import django"):
        stamp.write_text("\n".join(digests | extras))
        return
    if lock != DOCS:  # cut short, it leaves what the service runs on as it is
        stamp.write_text("\n".join(extras))
    with Progress(f"Installing the packages of {lock} into .venv …") as progress:
        count = PackageCount(progress, len(re.findall(r"^\S+==", (ROOT / lock).read_text(), re.MULTILINE)))
        if not succeeds(PYTHON, "--version"):
            run_step("Making .venv", sys.executable, "-m", "venv", "--without-pip", VENV)
        if not is_trial and not succeeds(PYTHON, "-m", "pip", "--version"):
            succeeds(PYTHON, "-m", "ensurepip")  # Debian's Python may have none, which is no fault yet
        if not (shutil.which("uv") and install_with_uv(lock, is_trial=is_trial)):
            # A lock has every package, so nothing is left to resolve.
            options = ["--no-deps", "--require-hashes"]
            if is_trial:
                options.append("--no-compile")
            run_step(f"Installing {lock}", *pip_command(), "install", *options, "-r", ROOT / lock, read=count.read)
    current_digests = digests & {digest(name) for name in INCLUDED_LOCKS if (ROOT / name).exists()}
    stamp.write_text("\n".join(current_digests | set(map(digest, INCLUDED_LOCKS[lock])) | extras))


def install_with_uv(lock: str, *, is_trial: bool) -> bool:
    """Install a lock with uv. Returns False if it fails: it does not read the settings of pip."""
    options = ["--no-deps", "--require-hashes"]
    if not is_trial:
        options.append("--compile-bytecode")
    environment = dict(os.environ)
    if environment.get("PIP_INDEX_URL"):
        environment.setdefault("UV_DEFAULT_INDEX", environment["PIP_INDEX_URL"])
    command: list[str | Path] = ["uv", "pip", "install", "--quiet", "--python", PYTHON, *options, "-r", ROOT / lock]
    status, _ = call(*command, env=environment)
    return status == 0


def pip_command() -> list[str | Path]:
    """Return the start of a pip command that installs into .venv: its own pip, or the one of this Python."""
    own_pip: list[str | Path] = [PYTHON, "-m", "pip", "--disable-pip-version-check"]
    if succeeds(*own_pip, "--version"):
        return own_pip
    outer_pip: list[str | Path] = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", PYTHON]
    if succeeds(*outer_pip, "--version"):
        return outer_pip
    if succeeds(PYTHON, "-m", "ensurepip"):
        return own_pip
    raise RunError(
        "this Python has neither ensurepip nor pip, and there is no uv. Install one of them (on Debian:"
        " apt install python3-venv), and run this again."
    )
