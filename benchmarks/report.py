"""Shared command line options and result formats of the benchmarks."""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from benchmarks.load import Side

README = Path(__file__).with_name("README.md")


def parser(description: str | None, *, load: bool = True, repeated: bool = True) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--seconds", type=float, default=10 if load else 1, help="of each run")
    made.set_defaults(rounds=1)
    if repeated:
        made.add_argument("--rounds", type=int, default=5, help="runs of each side, in turn")
    if load:
        made.add_argument("--warmup", type=float, default=3, help="seconds for each side before its first run")
        made.add_argument("--connections", type=int, default=32)
        made.add_argument("--threads", type=int, default=1, help="of wrk")
        made.add_argument("--fresh", action="store_true", help="start the servers anew before every round")
    made.add_argument("--json", type=Path, metavar="FILE", help="writes every run there")
    made.set_defaults(load_before=os.getloadavg()[0])  # results of a busy machine are worthless
    made.add_argument("--readme", action="store_true", help="puts the result into its place in benchmarks/README.md")
    return made


def load_of(options: argparse.Namespace) -> dict[str, Any]:
    names = ("seconds", "rounds", "warmup", "connections", "threads", "fresh")
    return {name: getattr(options, name) for name in names}


def ratio(side: Side, reference: Side) -> str:
    """Return the side's rate as a multiple of the reference's: the median over the rounds, and the range."""
    ratios = [one.rate / other.rate for one, other in zip(side.runs, reference.runs, strict=True) if other.rate]
    if side is reference or not ratios:
        return "1"
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def markdown(names: Sequence[str], rows: Iterable[Sequence[str]], texts: Sequence[int] = (0,)) -> str:
    """Return a table; the columns at `texts` are texts, the others numbers."""
    lines = [names, ["---" if column in texts else "---:" for column in range(len(names))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cost_names(unit: str) -> list[str]:
    spent = [f"µs CPU a {unit}: {part}" for part in ("server", "PostgreSQL + Valkey", "wrk")]
    return ["p50 ms", "p99 ms", *spent, "errors"]


def costs(side: Side) -> list[str]:
    """Return the medians of a side's runs for the columns of `cost_names`."""
    times = [f"{side.middle(part):.2f}" for part in ("p50", "p99")]
    spent = [f"{side.middle(part):.0f}" for part in ("server_cpu", "storage_cpu", "load_cpu")]
    return [*times, *spent, str(sum(run.errors for run in side.runs))]


def table(sides: Sequence[Side], reference: Side, unit: str) -> str:
    """Return a table of the runs' medians; the ratio is computed per round."""
    names = ["side", f"{unit}s/s", "times the reference", *cost_names(unit)]
    rows = [[side.name, f"{side.middle('rate'):,.0f}", ratio(side, reference), *costs(side)] for side in sides]
    return markdown(names, rows)


def runs_of(sides: Sequence[Side]) -> dict[str, Any]:
    return {side.name: [asdict(run) for run in side.runs] for side in sides}


def machine() -> str:
    """Describe the machine in one line."""
    processor = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = [
            line.partition(":")[2].strip() for line in information.read_text().splitlines() if "model name" in line
        ]
        processor = names[0] if names else processor
    memory = psutil.virtual_memory().total / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in ("Django", "uvicorn", "psycopg"))
    return (
        f"{processor}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.release()}, data on "
        f"{file_system()}; Python {platform.python_version()}, {packages}"
    )


def file_system() -> str:
    command = ["stat", "-f", "-c", "%T", tempfile.gettempdir()]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "an unknown file system"


def publish(place: str, text: str, results: dict[str, Any], options: argparse.Namespace) -> None:
    """Print the result; with --json also write all runs, with --readme also update the section `place`."""
    command = " ".join(["python -m benchmarks." + place, *arguments()])
    length = f" of {options.seconds:g} s" if options.seconds else ""
    runs = "One run" if options.rounds == 1 else f"Medians of {options.rounds} runs"
    text += (
        f"\n\n{runs}{length} on {datetime.now(UTC):%Y-%m-%d}, load average "
        f"before {options.load_before:.1f}. {machine()}. Command: `{command}`."
    )
    print(f"\n{text}\n")
    if options.json:
        kept = {key: str(value) for key, value in vars(options).items()}
        whole = {
            "benchmark": place,
            "machine": machine(),
            "load": options.load_before,
            "options": kept,
            "results": results,
        }
        options.json.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
    if options.readme:
        begin, end = f"<!-- {place} -->", f"<!-- end of {place} -->"
        before, _, rest = README.read_text().partition(begin)
        _, found, after = rest.partition(end)
        if not found:
            sys.exit(f"{README} has no place called {begin}.")
        README.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def arguments() -> list[str]:
    """Return this command's arguments that affect the measurement."""
    kept: list[str] = []
    given = iter(sys.argv[1:])
    for argument in given:
        if argument in ("--json", "--cerbos"):
            next(given, None)
        elif argument not in ("--readme", "--sqlite") and not argument.startswith(("--json=", "--cerbos=")):
            kept.append(argument)
    return kept
