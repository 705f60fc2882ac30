"""Load by `wrk`: scripts, results, and alternating runs of several sides."""

import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psutil

from benchmarks.harness import ServerProcess

GRACE_SECONDS = 30  # beyond a run's own time, before it counts as hung

DONE = """
function done(summary, latency)
  local e = summary.errors
  io.stdout:write(string.format(
    'RESULT {"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    e.status, e.connect + e.read + e.write + e.timeout))
end
"""


def post_script(path: Path, headers: Mapping[str, str], body: str) -> Path:
    """Write a wrk script that repeats one body; wrk builds the request once."""
    return script(path, ['wrk.method = "POST"', f"wrk.body = [==[{body}]==]"], headers)


def script(path: Path, lines: list[str], headers: Mapping[str, str]) -> Path:
    lines += [f'wrk.headers["{name}"] = "{value}"' for name, value in headers.items()]
    path.write_text("\n".join(lines) + DONE)
    return path


def processor_seconds(roots: Sequence[int]) -> float:
    """Return the CPU time in seconds of these processes and their descendants, including ended ones."""
    total = 0.0
    for root in roots:
        for process in (psutil.Process(root), *psutil.Process(root).children(recursive=True)):
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += times.user + times.system + times.children_user + times.children_system
    return total


@dataclass(frozen=True)
class Run:
    """Results of one run. Times in milliseconds, CPU in microseconds per unit of work."""

    rate: float  # units of work per second
    p50: float
    p99: float
    errors: int  # answers other than 2xx and 3xx, and connections that failed
    server_cpu: float = 0.0
    storage_cpu: float = 0.0
    load_cpu: float = 0.0


@dataclass
class Side:
    """One of the compared servers; `unit` is the number of decisions per request."""

    name: str
    url: str
    script: Path
    servers: tuple[ServerProcess, ...]
    storage: tuple[int, ...] = ()  # PostgreSQL and Valkey
    unit: int = 1
    runs: list[Run] = field(default_factory=list)
    answered: int = 0  # requests answered with 2xx, warm-ups included
    cut_off: int = 0  # requests that may have been under way when a run ended, unseen by wrk

    def run(self, seconds: float, connections: int, threads: int = 1) -> Run:
        wrk = shutil.which("wrk") or sys.exit("These measurements need wrk. On Debian: apt install wrk")
        threads = min(threads, connections)
        command = [wrk, f"-t{threads}", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--latency"]
        before = self.processor_seconds()
        done = subprocess.run(
            [*command, "-s", str(self.script), self.url],
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds + GRACE_SECONDS,
        )
        after = self.processor_seconds()
        result = next((line for line in done.stdout.splitlines() if line.startswith("RESULT ")), None)
        if result is None:
            sys.exit(f"wrk did not run against {self.name}:\n{done.stdout}{done.stderr}")
        return self.read(json.loads(result[7:]), connections, [b - a for a, b in zip(before, after, strict=True)])

    def processor_seconds(self) -> tuple[float, float, float]:
        """Return the CPU time in seconds of the servers, the storage and wrk."""
        servers = [server.pid for server in self.servers]
        return processor_seconds(servers), processor_seconds(self.storage), children_seconds()

    def read(self, found: dict[str, int], connections: int, spent: list[float]) -> Run:
        requests = found["requests"]
        self.answered += requests - found["refused"]
        self.cut_off += connections
        units = max(requests, 1) * self.unit
        return Run(
            units / found["microseconds"] * 1e6,
            found["p50"] / 1000,
            found["p99"] / 1000,
            found["refused"] + found["broken"],
            *(seconds / units * 1e6 for seconds in spent),
        )

    def middle(self, what: str) -> float:
        return median(getattr(run, what) for run in self.runs)


def children_seconds() -> float:
    """Return the CPU time in seconds of ended children; the difference between two calls is wrk's."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(
    sides: Sequence[Side],
    *,
    seconds: float,
    rounds: int,
    warmup: float,
    connections: int,
    threads: int,
    fresh: bool = False,
    report: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True),
) -> None:
    """Warm up every side, then run them alternately (A B C, C B A, …), so that drift affects all equally.

    The order turns round because what one side leaves behind, such as PostgreSQL's pages to write, slows the next:
    of two sides of the same code (`benchmarks.before HEAD`), the one that always ran first did 1.24 times the batches.

    A process is a few percent faster or slower than the next one of the same code for as long as it lives: its hash
    seed and the addresses of its memory are drawn at its start. With `fresh`, every round draws them anew.
    """
    for number in range(1, rounds + 1):
        if fresh and number > 1:
            for server in {server for side in sides for server in side.servers}:
                server.restart()
        if fresh or number == 1:
            for side in sides:
                side.run(warmup, connections, threads)
        for side in sides if number % 2 else reversed(sides):
            run = side.run(seconds, connections, threads)
            side.runs.append(run)
            report(
                f"round {number}/{rounds}, {connections} connections, {side.name}: {run.rate:,.0f}/s, "
                f"p50 {run.p50:.2f} ms, p99 {run.p99:.2f} ms, errors {run.errors}"
            )
