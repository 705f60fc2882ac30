"""Other programs, run to their end."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired, run

ROOT = Path(__file__).resolve().parent.parent


class RunError(Exception):
    """An error with a sentence for the terminal."""


def call(
    *command: str | Path,
    piped: bool = False,
    env: dict[str, str] | None = None,
    read: Callable[[str], None] | None = None,
    folder: Path = ROOT,
) -> tuple[int, str]:
    """Run a command in a folder; return its exit status and, if piped, its output.

    `read` gets the output by line instead.

    The command has ended when this returns or raises.
    """
    stdout = PIPE if piped or read else None
    # Its own process group gets each signal exactly once, whether from Ctrl-C or from a CI runner that signals run.py.
    process = Popen(command, cwd=folder, env=env, stdin=DEVNULL, stdout=stdout, text=True, process_group=0)
    try:
        if read and process.stdout:
            for line in process.stdout:
                read(line)
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


def must(
    doing: str,
    *command: str | Path,
    piped: bool = False,
    env: dict[str, str] | None = None,
    read: Callable[[str], None] | None = None,
    folder: Path = ROOT,
) -> str:
    status, output = call(*command, piped=piped, env=env, read=read, folder=folder)
    if status:
        raise RunError(f"{doing} failed (exit status {status}).")
    return output


def works(*command: str | Path) -> bool:
    with suppress(OSError):
        return run(command, capture_output=True, check=False, cwd=ROOT).returncode == 0
    return False
