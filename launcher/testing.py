"""`run.py test`: which pytest processes run, on which database, with which environment."""

import argparse
import os
import re
import subprocess
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import chain
from math import ceil
from typing import IO

from launcher.installing import DEV, PYTHON, install, setup_lock
from launcher.processes import ROOT, start, stop

# Their tests start, stop and starve servers, or drive browsers. The tests of a part run one after the other: on a
# machine that is busy with many tests, servers would start too late for what is tested.
SERVERS = {"servers": ("faults", "release"), "browser": ("browser",), "world": ("flows", "world")}
SLOW_FOLDERS = (*chain.from_iterable(SERVERS.values()), "clients", "openapi", "documentation", "admin", "commands")

SERVICES = ("DATABASE_URL", "REDIS_URL")
REFERENCE = ROOT / "docs" / "reference" / "settings.md"


def documented_settings() -> set[str]:
    """Return the environment variables that the reference of settings lists."""
    variables = re.findall(r"^\| (`[^|]+) \|", REFERENCE.read_text(), re.MULTILINE)
    return {name for cell in variables for name in re.findall(r"`([A-Z_0-9]+)`", cell)}


# What a caller's environment sets for a server must not change what the tests prove. DATA_DIR is each run's own.
SETTINGS = documented_settings() - {"DATA_DIR"} | {"AWS_DEFAULT_REGION"}

SQLITE = "sqlite"
POSTGRESQL = "postgresql"
POLL_SECONDS = 0.1
WORKERS = (os.cpu_count() or 1) + 1  # one for each core and one more, as some tests wait
LEGS = {SQLITE: "SQLite", POSTGRESQL: "PostgreSQL + Valkey"}
# Long ones first.
PARTS_WITH_SERVERS = [(SQLITE, "servers"), (POSTGRESQL, "servers"), (SQLITE, "browser"), (POSTGRESQL, "world")]


@dataclass(frozen=True)
class Phase:
    """One pytest process: its leg, what of the leg it runs, and its arguments."""

    leg: str
    part: str
    arguments: list[str]
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        return f"{LEGS[self.leg]}, {self.part}" if self.part else LEGS[self.leg]


def run_tests(arguments: list[str]) -> int:
    """Run the tests that the arguments name, or the gate. Return the exit status."""
    parser = argparse.ArgumentParser(prog="run.py test", add_help=False, allow_abbrev=False)
    parser.add_argument("--leg", choices=list(LEGS))
    parser.add_argument("--sample", type=int)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--fast", action="store_true")
    options, arguments = parser.parse_known_args(arguments)
    with setup_lock() as stamp:
        install(stamp, DEV)
    results = [result for side_by_side in plan_phases(options, arguments) for result in run_phases(side_by_side)]
    print("", *(line for _, line in results), sep="\n")
    all_passed = all(success for success, _ in results)
    print("run.py test: all passed" if all_passed else "run.py test: FAILED", flush=True)
    return 0 if all_passed else 1


def plan_phases(options: argparse.Namespace, arguments: list[str]) -> list[list[Phase]]:
    """Return the phases in their order. Those of an inner list run side by side, as far as there are cores."""
    legs = [options.leg] if options.leg else list(LEGS)
    if names_tests(arguments):
        return [[Phase(leg, "", arguments)] for leg in legs if options.leg or leg == SQLITE]
    if options.fast:
        arguments = add_workers(arguments) + [f"--ignore=tests/{folder}" for folder in SLOW_FOLDERS]
        arguments += ["-m", "not slow", "--most-cases", "4"]
        return [[Phase(options.leg or SQLITE, "fast", arguments, {"EXAMPLES": os.environ.get("EXAMPLES", "few")})]]
    if names_folders(arguments):
        return [[Phase(leg, "", add_workers(arguments))] for leg in legs]
    environment = {}
    if options.all:
        environment = {"EXAMPLES": os.environ.get("EXAMPLES", "all")}
    else:
        sample = commit_sample() if options.sample is None else options.sample
        print(f"The gate's sample {sample}; `run.py test --sample {sample}` repeats it.", flush=True)
        arguments = [*arguments, "--sample", str(sample)]
    in_process = [*add_workers(arguments, len(legs)), "--part", "in-process"]
    return [
        [Phase(leg, "in process", in_process, environment) for leg in legs],
        [
            Phase(leg, part, [*arguments, "--part", part], environment)
            for leg, part in PARTS_WITH_SERVERS
            if leg in legs
        ],
    ]


def names_tests(arguments: list[str]) -> bool:
    """Return whether the arguments name files or tests, which then run in one process."""
    return any(
        argument.startswith("-k") or "::" in argument or argument.endswith(".py")
        for argument in arguments
        if not argument.startswith("--")
    )


def names_folders(arguments: list[str]) -> bool:
    return any((ROOT / argument).is_dir() for argument in arguments if not argument.startswith("-"))


def add_workers(arguments: list[str], phases: int = 1) -> list[str]:
    """Add the workers of one of as many phases, unless the arguments set their number."""
    if any(argument.startswith(("-n", "--numprocesses")) for argument in arguments):
        return arguments
    return ["-n", str(min(ceil(WORKERS / phases), 8)), "--dist", "worksteal", *arguments]


def commit_sample() -> int:
    """Return a number that changes with each commit, and 0 outside of a checkout."""
    command = ["git", "rev-parse", "--short=7", "HEAD"]
    try:
        commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(commit, 16)


def run_phases(side_by_side: list[Phase]) -> list[tuple[bool, str]]:
    """Run phases at the same time. Return whether each passed, and the line that says so.

    Shows the output of the first one while it runs, and that of the others when all have ended.
    """
    with ExitStack() as stack:
        runs: list[Run] = []
        for phase in side_by_side:
            output = stack.enter_context(tempfile.TemporaryFile("w+", errors="replace")) if runs else None
            runs.append(Run(phase, stack.enter_context(tempfile.TemporaryDirectory(prefix="tests-")), output))
        print("", *(f"=== Tests on {phase.title} ===" for phase in side_by_side), sep="\n", flush=True)
        results = run_at_once(runs)
        for run in runs:
            if run.output:
                run.output.seek(0)
                print(f"\n=== Tests on {run.phase.title}: output ===\n{run.output.read()}", flush=True)
        return results


@dataclass(frozen=True)
class Run:
    """A phase's pytest process, its folder of data, and the file that takes its output, if it is not shown at once."""

    phase: Phase
    data: str
    output: IO[str] | None

    def start(self) -> "subprocess.Popen[str]":
        # Without bytecode each of a run's processes, some fifty, would compile everything anew.
        excluded = {*SETTINGS, "PYTHONDONTWRITEBYTECODE"}
        environment = {name: value for name, value in os.environ.items() if name not in excluded}
        command = [str(PYTHON), "-m", "pytest", *self.phase.arguments]
        if self.phase.leg == POSTGRESQL:
            environment |= {name: os.environ[name] for name in SERVICES if os.environ.get(name)}
            command = [str(PYTHON), "-m", "tests.services", "--no-fsync", *command]  # starts what is not given
        environment |= {**self.phase.environment, "DATA_DIR": self.data}
        return start(*command, env=environment, stdout=self.output, stderr=subprocess.STDOUT if self.output else None)

    def result(self, status: int, seconds: float) -> tuple[bool, str]:
        """Return whether the phase passed, by its exit status, and the line that says so."""
        reasons = {0: "passed", 5: "FAILED: no test ran", os.EX_UNAVAILABLE: "FAILED: not run"}
        result = reasons.get(status, f"FAILED: exit status {status}")
        return status == 0, f"{self.phase.title:<32} {seconds:6.1f} s  {result}"


def run_at_once(runs: list[Run]) -> list[tuple[bool, str]]:
    """Run all, at most WORKERS at the same time. An interruption ends them."""
    processes: list[subprocess.Popen[str]] = []
    begun: list[float] = []
    results: dict[int, tuple[bool, str]] = {}
    try:
        # Without threads: a signal that reaches one of them would not wake the thread that handles it.
        while len(results) < len(runs):
            if len(processes) < len(runs) and len(processes) - len(results) < WORKERS:
                begun.append(time.monotonic())
                processes.append(runs[len(processes)].start())
                continue
            for number, process in enumerate(processes):
                status = None if number in results else process.poll()
                if status is not None:
                    results[number] = runs[number].result(status, time.monotonic() - begun[number])
            time.sleep(POLL_SECONDS)
    except BaseException:
        stop(*processes)
        raise
    return [results[number] for number in range(len(runs))]
