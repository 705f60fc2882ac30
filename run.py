"""Sets the project up, starts it and tests it, with nothing but Python's standard library.

python3 run.py                    set up, migrate, make a demo account in an empty database, serve
python3 run.py --empty            the same without the demo account, with an operator of the admin
python3 run.py setup [--dev]      only make .venv with requirements.txt (or requirements-dev.txt), and build /docs/
python3 run.py setup --archive    the same with requirements-archive.txt; later set-ups in this folder keep it
python3 run.py test               the gate, about 22 minutes: every guarantee, on SQLite and on PostgreSQL with Valkey
    --all                         everything, before a release: more examples, kills, programs and languages
    --fast                        in about 90 s: on SQLite, unless --leg says otherwise, without servers, browsers, the
                                  admin and slow tests, and at most 4 cases of each test
    --leg sqlite|postgresql       on one of the two databases
    --sample N                    the gate as it was at another commit; it prints its number
    ARGUMENT …                    for pytest. A folder runs whole, on both databases; named tests (FILE, FILE::TEST,
                                  -k NAME) run on SQLite, in one process
"""

import os
import signal
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - this file is what tells it to those who have an older one
    sys.exit("run.py needs Python 3.11 or later.")
if sys.platform == "win32":
    sys.exit("run.py needs Linux, macOS or WSL.")

from kit.ports import why_unusable
from launcher.documentation import DOCS_ARGUMENT, build_docs, build_docs_beside, start_building_docs
from launcher.installing import ARCHIVE, DEV, PYTHON, install, install_runtime, setup_lock
from launcher.processes import ROOT, RunError
from launcher.testing import run_tests


def check_port() -> None:
    """Raises RunError where another program listens already."""
    host, port = os.environ.get("HOST") or "127.0.0.1", os.environ.get("PORT") or "8000"
    if not port.isdecimal():
        return  # the settings say what is wrong with it
    if problem := why_unusable(host, int(port)):
        raise RunError(problem)


def serve(*arguments: str) -> None:
    check_port()
    with setup_lock() as stamp:
        install_runtime(stamp, is_trial=True)
    start_building_docs()
    os.chdir(ROOT)
    os.execv(PYTHON, [str(PYTHON), "manage.py", "start", *arguments])


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    if arguments[-1:] in (["-h"], ["--help"]):
        print(__doc__)
    elif arguments[:1] == ["test"]:
        return run_tests(arguments[1:])
    elif arguments in (["setup"], ["setup", "--dev"], ["setup", "--archive"]):
        with setup_lock() as stamp:
            if arguments[1:] == ["--dev"]:
                install(stamp, DEV)
            else:
                install_runtime(stamp, *([ARCHIVE] if arguments[1:] else []))
        build_docs()
    elif arguments == ["--empty"]:
        serve("--empty")
    elif arguments[:1] == [DOCS_ARGUMENT]:
        build_docs_beside(int(arguments[1]))
    elif arguments:
        print(__doc__, file=sys.stderr)
        return 2
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
