"""`run.py test`: which pytest processes run, on which database, with which environment."""

import argparse
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

from launcher.installing import DEV, PYTHON, install, setup_lock
from launcher.processes import ROOT, call

# Their tests start, stop and starve servers, or drive browsers. They run in a phase of their own, one after the other:
# on a machine that is busy with other tests, servers would start too late for what is tested.
SERVERS = ("world", "browser", "faults", "flows", "release")
NOT_FAST = (*SERVERS, "clients", "openapi", "documentation", "admin", "commands")

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
DATA = (
    "DATABASE_POOLING",
    "REPORTS_DATABASE_URL",
    "REPORTS_MAX_LAG",
    "SECRET_KEY",
    "API_KEY_PEPPER",
    "API_KEY_PEPPER_PREVIOUS",
)
ARCHIVE = (
    *("ARCHIVE_DIR", "ARCHIVE_AFTER_DAYS", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    *("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
)
SETTINGS = {*SERVICES, *SERVER, *BOUNDS, *ADMIN, *OBSERVING, *DECISIONS, *PAGES, *WEBHOOKS, *DATA, *ARCHIVE, "DEBUG"}

SQLITE, POSTGRESQL = "sqlite", "postgresql"
LEGS = {SQLITE: "SQLite", POSTGRESQL: "PostgreSQL + Valkey"}


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


def test(arguments: list[str]) -> int:
    """Run the tests that the arguments name, or the gate. Return the exit status."""
    parser = argparse.ArgumentParser(prog="run.py test", add_help=False, allow_abbrev=False)
    parser.add_argument("--leg", choices=list(LEGS))
    parser.add_argument("--sample", type=int)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--fast", action="store_true")
    options, arguments = parser.parse_known_args(arguments)
    with setup_lock() as stamp:
        install(stamp, DEV)
    results = [run_phase(phase) for phase in phases(options, arguments)]
    print("", *(line for _, line in results), sep="\n")
    passed = all(success for success, _ in results)
    print("run.py test: all passed" if passed else "run.py test: FAILED", flush=True)
    return 0 if passed else 1


def phases(options: argparse.Namespace, arguments: list[str]) -> list[Phase]:
    legs = [options.leg] if options.leg else list(LEGS)
    if names_tests(arguments):
        return [Phase(leg, "", arguments) for leg in legs if options.leg or leg == SQLITE]
    if options.fast:
        left_out = [f"--ignore=tests/{folder}" for folder in NOT_FAST]
        fast = [*in_parallel(arguments), *left_out, "-m", "not slow", "--most-cases", "4"]
        return [Phase(options.leg or SQLITE, "fast", fast, {"EXAMPLES": os.environ.get("EXAMPLES", "few")})]
    if names_folders(arguments):
        return [Phase(leg, "", in_parallel(arguments)) for leg in legs]
    environment = {}
    if options.all:
        environment = {"EXAMPLES": os.environ.get("EXAMPLES", "all")}
    else:
        sample = sample_of_commit() if options.sample is None else options.sample
        print(f"The gate's sample {sample}; `run.py test --sample {sample}` repeats it.", flush=True)
        arguments = [*arguments, "--sample", str(sample)]
    return [
        phase
        for leg in legs
        for phase in (
            Phase(leg, "in process", [*in_parallel(arguments), "--part", "in-process"], environment),
            Phase(leg, "servers", [*arguments, "--part", "servers"], environment),
        )
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


def in_parallel(arguments: list[str]) -> list[str]:
    """Add a worker for each core, unless the arguments set their number."""
    if any(argument.startswith(("-n", "--numprocesses")) for argument in arguments):
        return arguments
    return ["-n", str(min(os.cpu_count() or 1, 8)), "--dist", "worksteal", *arguments]


def sample_of_commit() -> int:
    """Return a number that changes with each commit, and 0 outside of a checkout."""
    command = ["git", "rev-parse", "--short=7", "HEAD"]
    try:
        commit = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(commit, 16)


def run_phase(phase: Phase) -> tuple[bool, str]:
    """Run a phase. Return whether it passed, and the line that says so."""
    print(f"\n=== Tests on {phase.title} ===", flush=True)
    # Without bytecode each of a run's processes, some fifty, would compile everything anew.
    dropped = {*SETTINGS, "PYTHONDONTWRITEBYTECODE"}
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    command = [str(PYTHON), "-m", "pytest", *phase.arguments]
    if phase.leg == POSTGRESQL:
        environment |= {name: os.environ[name] for name in SERVICES if os.environ.get(name)}
        command = [str(PYTHON), "-m", "tests.services", "--no-fsync", *command]  # starts what is not given
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tests-") as data:
        status, _ = call(*command, env={**environment, **phase.environment, "DATA_DIR": data})
    reasons = {0: "passed", 5: "FAILED: no test ran", os.EX_UNAVAILABLE: "FAILED: not run"}
    result = reasons.get(status, f"FAILED: exit status {status}")
    return status == 0, f"{phase.title:<32} {time.monotonic() - began:6.1f} s  {result}"
