"""Sets the project up, starts it and tests it, with nothing but Python's standard library.

python3 run.py                    set up, migrate, make a demo account in an empty database, serve
python3 run.py --empty            the same without the demo account, with an operator of the admin
python3 run.py setup [--dev]      only make .venv with requirements.txt (or requirements-dev.txt)
python3 run.py setup --archive    the same with requirements-archive.txt; later set-ups in this folder keep it
python3 run.py test               the gate, about 25 minutes: every guarantee, on SQLite and on PostgreSQL with Valkey
    --all                         everything, before a release: more examples, kills, programs and languages
    --fast                        in about 90 s: on SQLite, unless --leg says otherwise, without servers, browsers, the
                                  admin and slow tests, and at most 4 cases of each test
    --leg sqlite|postgresql       on one of the two databases
    --sample N                    the gate as it was at another commit; it prints its number
    ARGUMENT …                    for pytest. A folder runs whole, on both databases; named tests (FILE, FILE::TEST,
                                  -k NAME) run on SQLite, in one process
"""

import json
import os
import signal
import sys
from typing import TypedDict

if sys.version_info < (3, 11):  # noqa: UP036 - this file is what tells it to those who have an older one
    sys.exit("run.py needs Python 3.11 or later.")
if sys.platform == "win32":
    sys.exit("run.py needs Linux, macOS or WSL.")

from kit.ports import why_unusable
from launcher.documentation import build_docs
from launcher.installing import ARCHIVE, DEV, PYTHON, install, install_runtime, setup_lock
from launcher.processes import ROOT, RunError, must
from launcher.progress import MigrationNames, Progress
from launcher.testing import test


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


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    if arguments[:1] == ["test"]:
        return test(arguments[1:])
    if arguments in (["setup"], ["setup", "--dev"], ["setup", "--archive"]):
        with setup_lock() as stamp:
            if arguments[1:] == ["--dev"]:
                install(stamp, DEV)
            else:
                install_runtime(stamp, *([ARCHIVE] if arguments[1:] else []))
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
