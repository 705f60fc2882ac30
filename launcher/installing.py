"""The project's virtual environment and its packages."""

import base64
import fcntl
import hashlib
import html
import json
import os
import re
import shutil
import ssl
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import Request, urlopen

from launcher.processes import ROOT, RunError, must, works
from launcher.progress import PackageCount, Progress

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
RUNTIME, DOCS, DEV = "requirements.txt", "requirements-docs.txt", "requirements-dev.txt"
HOLDS = {RUNTIME: {RUNTIME}, DOCS: {RUNTIME, DOCS}, DEV: {RUNTIME, DOCS, DEV}}  # a lock has the pins of these, too

# Only for a Python that came without pip (Debian's python3-minimal): the one file fetched that no lock holds.
PIP_WHEEL = "pip-26.3-py3-none-any.whl"
PIP_SHA256 = "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"


@contextmanager
def setup_lock() -> Iterator[Path]:
    """Allow only one set-up at a time. The locked file is also the stamp: digests of the installed locks."""
    ours = not VENV.exists() or (VENV / "setup.lock").exists()
    VENV.mkdir(exist_ok=True)
    with (VENV / "setup.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another run.py is setting up; waiting for it.", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        stamp = Path(lock.name)
        # Empty: a set-up was cut short, maybe within a package. What run.py did not make is only added to.
        if ours and not (stamp.read_text() and PYTHON.exists()):
            for path in set(VENV.iterdir()) - {stamp}:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        yield stamp


def digest(lock: str) -> str:
    return hashlib.sha256((ROOT / lock).read_bytes()).hexdigest()


def install(stamp: Path, lock: str) -> None:
    # The import fails where another Python took the place of the one .venv was made with.
    if digest(lock) in stamp.read_text().split() and works(PYTHON, "-c", "import django"):
        return
    before = set(stamp.read_text().split())
    stamp.write_text("")
    with Progress(f"Installing {lock} into .venv …") as progress:
        count = PackageCount(progress, len(re.findall(r"^\S+==", (ROOT / lock).read_text(), re.MULTILINE)))
        command = (*installer(), "install", "--require-hashes", "-r", ROOT / lock)
        must(f"Installing {lock}", *command, read=count.read)
    still = before & set(map(digest, HOLDS))
    stamp.write_text("\n".join(still | set(map(digest, HOLDS[lock]))))


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
    with tempfile.TemporaryDirectory() as folder:
        wheel = Path(folder) / PIP_WHEEL
        wheel.write_bytes(pip_wheel(index))
        must("Installing pip", PYTHON, wheel / "pip", "install", "-q", "--no-index", wheel)
    return own


def pip_wheel(index: str) -> bytes:
    if urlsplit(index).scheme not in {"http", "https"}:
        raise RunError(
            "this Python has neither ensurepip nor pip, and there is no uv. Install one of them (on Debian:"
            " apt install python3-venv) or set PIP_INDEX_URL to a package index, and run this again."
        )
    content, kind, page = download(index.rstrip("/") + "/pip/", index)
    if "json" in kind:
        links = [file["url"] for file in json.loads(content)["files"]]
    else:
        links = [html.unescape(link) for link in re.findall(r'href\s*=\s*["\']([^"\']+)', content.decode())]
    link = next((link for link in links if f"/{urlsplit(link).path}".endswith(f"/{PIP_WHEEL}")), None)
    if link is None:
        raise RunError(f"the package index that PIP_INDEX_URL names has no {PIP_WHEEL}.")
    wheel, _, _ = download(urljoin(page, link), index)
    if hashlib.sha256(wheel).hexdigest() != PIP_SHA256:
        raise RunError(f"the package index has another {PIP_WHEEL} than expected; it was not used.")
    return wheel


def download(url: str, index: str) -> tuple[bytes, str, str]:
    """Return the content, its type and final address. Credentials in the index's address are sent only to its host."""
    host, login = urlsplit(url).netloc.rpartition("@")[2], urlsplit(index).netloc.rpartition("@")
    address = urlsplit(url)._replace(netloc=host).geturl()
    accepted = "application/vnd.pypi.simple.v1+json, text/html;q=0.5, */*;q=0.1"
    # S310 is about file: addresses. The index is http(s), and the downloads are verified by digest.
    request = Request(address, headers={"Accept": accepted})  # noqa: S310
    if login[0] and host == login[2]:
        basic = base64.b64encode(unquote(login[0]).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {basic}")
    trust = ssl.create_default_context(cafile=os.environ.get("PIP_CERT"))
    try:
        with urlopen(request, timeout=60, context=trust) as reply:  # noqa: S310
            return reply.read(), reply.headers.get("Content-Type", ""), reply.geturl()
    except (OSError, ValueError) as error:
        raise RunError(f"{address} could not be read: {error}") from None
