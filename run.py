"""Sets the project up, starts it and tests it, with nothing but Python's standard library.

python3 run.py                    set up, migrate, make a demo account in an empty database, serve
python3 run.py --empty            the same without the demo account, with an operator of the admin
python3 run.py setup [--dev]      only make .venv with requirements.txt (or requirements-dev.txt)
python3 run.py setup --archive    the same with requirements-archive.txt; later set-ups in this folder keep it
python3 run.py test [ARGUMENT …]  run pytest with the arguments on SQLite, then on PostgreSQL and Valkey;
                                  named tests (FILE, FILE::TEST, -k NAME) on SQLite, in one process
    --leg sqlite|postgresql       on one of the two alone
    --fast                        in about 90 s: on SQLite, unless --leg says otherwise, without servers, browsers, the
                                  admin and slow tests, and at most 4 cases of each test
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
from typing import TypedDict

if sys.version_info < (3, 11):  # noqa: UP036 - this file is what tells it to those who have an older one
    sys.exit("run.py needs Python 3.11 or later.")
if sys.platform == "win32":
    sys.exit("run.py needs Linux, macOS or WSL.")

from kit.ports import why_unusable
from launcher.documentation import build_docs
from launcher.installing import ARCHIVE as ARCHIVE_LOCK
from launcher.installing import DEV, PYTHON, install, install_runtime, setup_lock
from launcher.processes import ROOT, RunError, call, must
from launcher.progress import MigrationNames, Progress

# What a caller's environment sets for a server must not change what the tests prove.
SERVICES = ("DATABASE_URL", "REDIS_URL")
SERVER = ("HOST", "PORT", "WORKERS", "ALLOWED_HOSTS", "TRUSTED_PROXIES", "CRAWLER_DNS", "CRAWLER_LISTS")
BOUNDS = (
    *("MAX_CONNECTIONS", "MAX_CONNECTIONS_PER_ADDRESS", "MAX_BODY_MEMORY_MIB"),
    *("HEAD_SECONDS", "BODY_SECONDS", "SEND_SECONDS", "KEEP_ALIVE_SECONDS"),
    *("THREADS", "HEAVY_THREADS", "STATEMENT_SECONDS", "HEAVY_STATEMENT_SECONDS", "PAGES_PER_MINUTE"),
)
ADMIN = ("ADMIN", "ADMIN_HOST", "ADMIN_PORT", "ADMIN_REQUIRE_TOTP")
DECISIONS = (
    "DECISION_CACHE_SECONDS",
    "EDGE_CACHE_SECONDS",
    "LICENSE_TOKEN_SECONDS",
    "BASE_URL",
    "DEPRECATIONS",
    "DOCS_SITE",
)
PAGES = ("SAME_PAGE", "PAGE_PARAMETERS", "PAGE_RETENTION_DAYS")
OBSERVING = ("LOG_FORMAT", "ACCESS_LOG", "METRICS_TOKEN", "PROMETHEUS_MULTIPROC_DIR", "OTEL_EXPORTER_OTLP_ENDPOINT")
WEBHOOKS = {"WEBHOOKS_ALLOW_PRIVATE", "WEBHOOKS_DELIVER", "WEBHOOK_RETRY_SCHEDULE", "EVENT_RETENTION_DAYS"}
DATA = ("DATABASE_POOLING", "REPORTS_DATABASE_URL", "REPORTS_MAX_LAG", "SECRET_KEY", "API_KEY_PEPPER")
ARCHIVE = (
    *("ARCHIVE_DIR", "ARCHIVE_AFTER_DAYS", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    *("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
)
SLOW = ("world", "browser", "faults", "clients", "openapi", "documentation")  # start servers and foreign tools
NOT_FAST = (*SLOW, "admin", "commands")
SETTINGS = {*SERVICES, *SERVER, *BOUNDS, *ADMIN, *OBSERVING, *DECISIONS, *PAGES, *WEBHOOKS, *DATA, *ARCHIVE, "DEBUG"}


class Made(TypedDict, total=False):
    """What a first start has made, with the texts that are shown only once."""

    curl: str
    operator: dict[str, str] | None


def check_port() -> None:
    """Raises RunError where another program listens already."""
    host, port = os.environ.get("HOST") or "127.0.0.1", os.environ.get("PORT") or "8000"
    if not port.isdecimal():
        return  # the settings say what is wrong with it
    if problem := why_unusable(host, int(port)):
        raise RunError(problem)


def serve(*, empty: bool = False) -> None:
    check_port()
    with setup_lock() as stamp:  # also around the migration: two at once would make the same tables
        install_runtime(stamp)
        build_docs(stamp)
        with Progress("Migrating the database …") as progress:
            must("The migration", PYTHON, "manage.py", "migrate", read=MigrationNames(progress).read)
        demo = first_operator() if empty else demo_account()
    if "curl" in demo:
        print(f"\nA demo account with sample data was made. Try, once this serves:\n\n    {demo['curl']}\n")
    if operator := demo.get("operator"):
        print("The admin is at {address}: sign in as {username} with the password {password}".format(**operator))
        print("(shown this once; a new operator: .venv/bin/python manage.py create_operator NAME --superuser)\n")
    print("A new key: .venv/bin/python manage.py create_api_key --account ID --name NAME --type secret")
    print(
        "Starting. The address is shown once it answers; /docs/ has the documentation. Ctrl-C stops it.\n", flush=True
    )
    os.chdir(ROOT)
    os.execv(PYTHON, [str(PYTHON), "manage.py", "serve"])


def demo_account() -> Made:
    """The demo with its `curl` line and `operator`, if the database was empty."""
    print("Making a demo account with a year of sample data, if there is no account …", flush=True)
    return answer("Making the demo account", "seed_demo", "--if-empty")


def first_operator() -> Made:
    """An `operator` to sign in to the admin as, if there was none."""
    return answer("Making an operator", "first_operator")


def answer(doing: str, *command: str) -> Made:
    """Return the last JSON object that a manage.py command prints."""
    told: Made = json.loads(must(doing, PYTHON, "manage.py", *command, "--json", piped=True).splitlines()[-1])
    return told


def test(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="run.py test", add_help=False, allow_abbrev=False)
    parser.add_argument("--leg", choices=["sqlite", "postgresql"])
    parser.add_argument("--fast", action="store_true")
    options, arguments = parser.parse_known_args(arguments)
    by_name = any(one.startswith("-k") or "::" in one or one.endswith(".py") for one in arguments if one[:2] != "--")
    only = options.leg or ("sqlite" if options.fast or by_name else None)
    if options.fast:
        arguments += [f"--ignore=tests/{folder}" for folder in NOT_FAST]
        arguments += ["-m", "not slow", "--most-cases", "4"]
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
    if arguments in (["setup"], ["setup", "--dev"], ["setup", "--archive"]):
        with setup_lock() as stamp:
            if arguments[1:] == ["--dev"]:
                install(stamp, DEV)
            else:
                install_runtime(stamp, *([ARCHIVE_LOCK] if arguments[1:] else []))
            build_docs(stamp)
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
