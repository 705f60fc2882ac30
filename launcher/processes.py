"""Other programs, run to their end."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired, run
from typing import IO

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
    process = start(*command, env=env, folder=folder, stdout=PIPE if piped or read else None)
    try:
        if read and process.stdout:
            for line in process.stdout:
                read(line)
        output, _ = process.communicate()
    except BaseException:
        stop(process)
        raise
    return process.returncode, output or ""


def start(
    *command: str | Path,
    env: dict[str, str] | None = None,
    folder: Path = ROOT,
    stdout: int | IO[str] | None = None,
    stderr: int | None = None,
) -> "Popen[str]":
    """Start a command in a folder."""
    # Its own process group gets each signal exactly once, whether from Ctrl-C or from a CI runner that signals run.py.
    return Popen(command, cwd=folder, env=env, stdin=DEVNULL, stdout=stdout, stderr=stderr, text=True, process_group=0)


def stop(*processes: "Popen[str]") -> None:
    """End processes and those that they started. Further signals to this process are ignored from here on."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    for process in processes:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with suppress(TimeoutExpired):
                process.wait(10)
                break


def run_step(
    step: str,
    *command: str | Path,
    piped: bool = False,
    env: dict[str, str] | None = None,
    read: Callable[[str], None] | None = None,
    folder: Path = ROOT,
) -> str:
    """Run a command; return its output if piped. Raises RunError, naming the step, if the command fails."""
    status, output = call(*command, piped=piped, env=env, read=read, folder=folder)
    if status:
        raise RunError(f"{step} failed (exit status {status}).")
    return output


def succeeds(*command: str | Path) -> bool:
    with suppress(OSError):
        return run(command, capture_output=True, check=False, cwd=ROOT).returncode == 0
    return False
