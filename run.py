"""Sets the project up, starts it and tests it, with nothing but Python's standard library.

python3 run.py                    set up, migrate, make a demo account in an empty database, serve
python3 run.py --empty            the same without the demo account
python3 run.py setup [--dev]      only make .venv with requirements.txt (or requirements-dev.txt)
python3 run.py test [ARGUMENT …]  run pytest with the arguments on SQLite, then on PostgreSQL and Valkey
    --leg sqlite|postgresql       on one of the two alone: SQLite, where tests are named (-k NAME, FILE::TEST)
    --fast                        on SQLite, unless --leg says otherwise, without servers, browsers and foreign tools
"""

import argparse
import base64
import hashlib
import html
import json
import os
import re
import shutil
import signal
import socket
import ssl
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired, run
from urllib.parse import unquote, urljoin, urlsplit
from urllib.request import Request, urlopen

try:
    import fcntl
except ImportError:
    sys.exit("run.py needs Linux, macOS or WSL.")
if sys.version_info < (3, 11):  # noqa: UP036 - this file is what tells it to those who have an older one
    sys.exit("run.py needs Python 3.11 or later.")

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
RUNTIME, DEV = "requirements.txt", "requirements-dev.txt"

# Only for a Python that came without pip (Debian's python3-minimal): the one file fetched that no lock holds.
PIP_WHEEL = "pip-26.3-py3-none-any.whl"
PIP_SHA256 = "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"

# What a caller's environment sets for a server must not change what the tests prove.
SERVICES = ("DATABASE_URL", "REDIS_URL")
SERVER = ("HOST", "PORT", "WORKERS", "ALLOWED_HOSTS", "TRUSTED_PROXIES", "CRAWLER_DNS")
BOUNDS = (
    *("MAX_CONNECTIONS", "MAX_CONNECTIONS_PER_ADDRESS", "MAX_BODY_MEMORY_MIB"),
    *("HEAD_SECONDS", "BODY_SECONDS", "SEND_SECONDS", "KEEP_ALIVE_SECONDS"),
    *("THREADS", "HEAVY_THREADS", "STATEMENT_SECONDS", "HEAVY_STATEMENT_SECONDS", "PAGES_PER_MINUTE"),
)
ADMIN = ("ADMIN", "ADMIN_HOST", "ADMIN_PORT", "ADMIN_REQUIRE_TOTP")
DECISIONS = ("DECISION_CACHE_SECONDS", "LICENSE_TOKEN_SECONDS", "BASE_URL", "DEPRECATIONS")
PAGES = ("SAME_PAGE", "PAGE_PARAMETERS")
OBSERVING = ("LOG_FORMAT", "ACCESS_LOG", "METRICS_TOKEN", "PROMETHEUS_MULTIPROC_DIR", "OTEL_EXPORTER_OTLP_ENDPOINT")
WEBHOOKS = {"WEBHOOKS_ALLOW_PRIVATE", "WEBHOOKS_DELIVER", "WEBHOOK_RETRY_SCHEDULE", "EVENT_RETENTION_DAYS"}
SECRETS = ("SECRET_KEY", "API_KEY_PEPPER")
SLOW = ("browser", "faults", "clients", "openapi", "documentation")  # start servers and foreign tools
SETTINGS = {*SERVICES, *SERVER, *BOUNDS, *ADMIN, *OBSERVING, *DECISIONS, *PAGES, *WEBHOOKS, *SECRETS, "DEBUG"}


class RunError(Exception):
    """What went wrong, in a sentence for the terminal."""


def call(*command: str | Path, piped: bool = False, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Its exit status and its output, if piped. However the call ends, the command has ended before it."""
    stdout = PIPE if piped else None
    # In a group of its own it gets a signal once and whole, be it Ctrl-C or a CI runner's to run.py alone.
    process = Popen(command, cwd=ROOT, env=env, stdin=DEVNULL, stdout=stdout, text=True, process_group=0)
    try:
        output, _ = process.communicate()
    except BaseException:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with suppress(TimeoutExpired):
                process.wait(10)
                break
        raise
    return process.returncode, output or ""


def must(doing: str, *command: str | Path, piped: bool = False) -> str:
    status, output = call(*command, piped=piped)
    if status:
        raise RunError(f"{doing} failed (exit status {status}).")
    return output


@contextmanager
def setup_lock() -> Iterator[Path]:
    """Lets one set-up run at a time. The locked file is also the stamp: digests of the installed locks."""
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


def works(*command: str | Path) -> bool:
    with suppress(OSError):
        return run(command, capture_output=True, check=False, cwd=ROOT).returncode == 0
    return False


def install(stamp: Path, lock: str) -> None:
    # The import fails where another Python took the place of the one .venv was made with.
    if digest(lock) in stamp.read_text().split() and works(PYTHON, "-c", "import django"):
        return
    print(f"Installing {lock} into .venv …", flush=True)
    stamp.write_text("")
    must(f"Installing {lock}", *installer(), "install", "-q", "--require-hashes", "-r", ROOT / lock)
    # The dev lock holds the other's pins too.
    stamp.write_text("\n".join({digest(RUNTIME), digest(lock)}))


def installer() -> list[str | Path]:
    """The beginning of a pip command that installs into .venv, which is made if need be."""
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
    """The content, its type and final address. A login in the index's address goes to its host alone."""
    host, login = urlsplit(url).netloc.rpartition("@")[2], urlsplit(index).netloc.rpartition("@")
    address = urlsplit(url)._replace(netloc=host).geturl()
    accepted = "application/vnd.pypi.simple.v1+json, text/html;q=0.5, */*;q=0.1"
    # S310 is about file: addresses. The index is http(s), and what it leads to is checked by its digest.
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


def check_port() -> None:
    """Raises RunError where another program listens already."""
    host, port = os.environ.get("HOST") or "127.0.0.1", os.environ.get("PORT") or "8000"
    if not port.isdecimal():
        return  # the settings say what is wrong with it
    try:
        kind, _, _, _, address = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[0]
        with socket.socket(kind, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise RunError(f"Port {port} of {host} cannot be used: {error.strerror}. Set PORT to another.") from None


def serve(*, empty: bool = False) -> None:
    check_port()
    with setup_lock() as stamp:  # also around the migration: two at once would make the same tables
        install(stamp, RUNTIME)
        must("The migration", PYTHON, "manage.py", "migrate", "--verbosity", "0")
        seed = (PYTHON, "manage.py", "seed_demo", "--if-empty", "--json")
        made = "{}" if empty else must("Making the demo account", *seed, piped=True).strip().splitlines()[-1]
        demo = json.loads(made)
    address = f"http://{os.environ.get('HOST') or '127.0.0.1'}:{os.environ.get('PORT') or '8000'}"
    if "curl" in demo:
        print(f"\nA demo account with sample data was made. Try, once this serves:\n\n    {demo['curl']}\n")
    if operator := demo.get("operator"):
        print("The admin is at {address}: sign in as {username} with the password {password}".format(**operator))
        print("(shown this once; a new operator: .venv/bin/python manage.py create_operator NAME --superuser)\n")
    print("A new key: .venv/bin/python manage.py create_api_key --account ID --name NAME --type secret")
    print(f"Serving at {address}, with documentation at {address}/docs/. Ctrl-C stops it.\n", flush=True)
    os.chdir(ROOT)
    os.execv(PYTHON, [str(PYTHON), "manage.py", "serve"])  # noqa: S606 - no shell is the point


def test(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="run.py test", add_help=False, allow_abbrev=False)
    parser.add_argument("--leg", choices=["sqlite", "postgresql"])
    parser.add_argument("--fast", action="store_true")
    options, arguments = parser.parse_known_args(arguments)
    by_name = any(argument.startswith("-k") or "::" in argument for argument in arguments)
    only = options.leg or ("sqlite" if options.fast or by_name else None)
    if options.fast:
        arguments += [f"--ignore=tests/{folder}" for folder in SLOW]
        os.environ.setdefault("EXAMPLES", "few")
    with setup_lock() as stamp:
        install(stamp, DEV)
    pytest = [str(PYTHON), "-m", "pytest"]
    if not by_name and not any(argument.startswith(("-n", "--numprocesses")) for argument in arguments):
        # One more than there are cores: some test often waits, for a server that starts or a lease that ends.
        pytest += ["-n", str(min((os.cpu_count() or 1) + 1, 8)), "--dist", "worksteal"]
    pytest += arguments
    given = {name: os.environ[name] for name in SERVICES if os.environ.get(name)}
    servers = [str(PYTHON), "-m", "tests.services", "--no-fsync"]  # starts what is not given
    ways: dict[str, tuple[str, list[str], dict[str, str]]] = {"sqlite": ("SQLite", pytest, {})}
    ways["postgresql"] = ("PostgreSQL + Valkey", [*servers, *pytest], given)
    legs = [leg(*way) for name, way in ways.items() if only in (None, name)]
    print("", *(line for _, line in legs), sep="\n")
    passed = all(success for success, _ in legs)
    print("run.py test: all passed" if passed else "run.py test: FAILED", flush=True)
    return 0 if passed else 1


def leg(name: str, command: list[str], environment: dict[str, str]) -> tuple[bool, str]:
    print(f"\n=== Tests on {name} ===", flush=True)
    # Without bytecode each of a run's processes, some fifty, would compile everything anew.
    dropped = {*SETTINGS, "PYTHONDONTWRITEBYTECODE"}
    kept = {key: value for key, value in os.environ.items() if key not in dropped}
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tests-") as data:
        status, _ = call(*command, env={**kept, **environment, "DATA_DIR": data})
    reasons = {0: "passed", 5: "FAILED: no test ran", os.EX_UNAVAILABLE: "FAILED: not run"}
    result = reasons.get(status, f"FAILED: exit status {status}")
    return status == 0, f"{name:<20} {time.monotonic() - began:6.1f} s  {result}"


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    if arguments[:1] == ["test"]:
        return test(arguments[1:])
    if arguments in (["setup"], ["setup", "--dev"]):
        with setup_lock() as stamp:
            install(stamp, DEV if arguments[1:] else RUNTIME)
    elif arguments == ["--empty"]:
        serve(empty=True)
    elif arguments:
        asked = arguments in (["-h"], ["--help"])
        print(__doc__, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    else:
        serve()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except RunError as error:
        sys.exit(f"run.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
