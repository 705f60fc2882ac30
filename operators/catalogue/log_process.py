"""Imports an uploaded log in a process of its own, so that it holds up no request of this one."""

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import msgspec
from django.conf import settings
from msgspec import Struct

from kit.http.errors import InvalidRequest

REFUSAL = "CommandError: "
MOST_REPORTED = 2_000  # characters of a crash


class Problem(Struct):
    line: int
    message: str


class Count(Struct):
    count: int
    status: str = ""
    reason: str = ""


class Worth(Struct):
    amount: Decimal
    currency: str


class Skipped(Struct, rename="camel"):
    other_hosts: int
    open_pages: int
    assets: int
    live: int
    purged: int
    not_requests: int


class LogResult(Struct, rename="camel"):
    """The object that the command prints."""

    format: str
    dry_run: bool
    lines: int
    understood_percent: float
    imported: int
    repeated: int
    skipped: Skipped
    not_taken_by_status: list[Count]
    malformed: int
    problems: list[Problem]
    refused: int
    by_reason: list[Count]
    worth: list[Worth]
    first_at: str | None = None
    last_at: str | None = None


def import_log(
    file: Path, site: str, log_format: str, *, dry_run: bool, with_live: bool, most_bytes: int
) -> LogResult:
    """Run the command `import_access_log` and return its result. Raises InvalidRequest with the command's reason."""
    arguments = ["import_access_log", str(file), f"--site={site}", "--json", f"--most-bytes={most_bytes}"]
    if log_format:
        arguments.append(f"--format={log_format}")
    if dry_run:
        arguments.append("--dry-run")
    if with_live:
        arguments.append("--include-live")
    done = run_command(arguments)
    if done.returncode == 0:
        return msgspec.json.decode(done.stdout.splitlines()[-1], type=LogResult)
    _, refusal, reason = done.stderr.rpartition(REFUSAL)
    if not refusal:
        raise RuntimeError(f"The import ended with {done.returncode}: {done.stderr[-MOST_REPORTED:]}")
    raise InvalidRequest(reason.strip())


def run_command(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), *arguments, "--no-color"]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - no shell reads it
