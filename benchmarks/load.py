"""Load by `wrk`: scripts, results, and alternating runs of several sides; and arrivals at random times."""

import asyncio
import json
import random
import re
import resource
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles
from types import MappingProxyType
from typing import cast
from urllib.parse import urlsplit

import psutil
import psycopg
import uvloop

from benchmarks.harness import ServerProcess

LENGTH = re.compile(rb"(?i)content-length: *(\d+)")
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


def get_script(path: Path, headers: Mapping[str, str] = MappingProxyType({})) -> Path:
    return script(path, ['wrk.method = "GET"'], headers)


def retry_script(path: Path, headers: Mapping[str, str], body: str, header: str) -> Path:
    """Write a wrk script that repeats one body with a unique value of a header, across all runs."""
    lines = ['wrk.method = "POST"', f"wrk.body = [==[{body}]==]"]
    lines += ['local run, count = os.time() .. "-" .. tostring({}):sub(10) .. "-", 0']
    lines += ["function request()", "  count = count + 1", f'  wrk.headers["{header}"] = run .. count']
    return script(path, [*lines, "  return wrk.format()", "end"], headers)


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
    wal: float = 0.0  # bytes of PostgreSQL's log per unit of work


@dataclass
class Side:
    """One of the compared servers; `unit` is the number of decisions per request."""

    name: str
    url: str
    script: Path
    servers: tuple[ServerProcess, ...]
    storage: tuple[int, ...] = ()  # PostgreSQL and Valkey
    unit: int = 1
    posts: Sequence[bytes] = ()  # the requests as bytes, for `run_open`
    database: str = ""  # PostgreSQL's URL, to measure its log
    runs: list[Run] = field(default_factory=list)
    answered: int = 0  # requests answered with 2xx, warm-ups included
    cut_off: int = 0  # requests that may have been under way when a run ended, unseen by wrk

    def run(self, seconds: float, connections: int, threads: int = 1) -> Run:
        wrk = shutil.which("wrk") or sys.exit("These measurements need wrk. On Debian: apt install wrk")
        threads = min(threads, connections)
        command = [wrk, f"-t{threads}", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--latency"]
        before, wal = self.processor_seconds(), self.wal_position()
        done = subprocess.run(
            [*command, "-s", str(self.script), self.url],
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds + GRACE_SECONDS,
        )
        after, written = self.processor_seconds(), self.wal_position() - wal
        result = next((line for line in done.stdout.splitlines() if line.startswith("RESULT ")), None)
        if result is None:
            sys.exit(f"wrk did not run against {self.name}:\n{done.stdout}{done.stderr}")
        spent = [b - a for a, b in zip(before, after, strict=True)]
        return self.read(json.loads(result[7:]), connections, spent, written)

    def run_open(self, rate: float, seconds: float, connections: int) -> Run:
        """Send requests at random times (Poisson arrivals), `rate` a second on average.

        A request's time begins when it should have been sent, also if every connection was busy then.
        """
        before, wal, own = self.processor_seconds(), self.wal_position(), time.process_time()
        times, refused = uvloop.run(Arrivals(self.url, self.posts).send(rate, seconds, connections))
        after, written = self.processor_seconds(), self.wal_position() - wal
        found = {
            "requests": len(times),
            "microseconds": round(seconds * 1e6),
            "p50": round(median(times) * 1e6),
            "p99": round(quantiles(times, n=100)[98] * 1e6),
            "refused": refused,
            "broken": 0,
        }
        spent = [after[0] - before[0], after[1] - before[1], time.process_time() - own]
        return self.read(found, 0, spent, written)

    def wal_position(self) -> int:
        """Return how many bytes PostgreSQL has written to its log; 0 without PostgreSQL."""
        if not self.database:
            return 0
        with psycopg.connect(self.database) as connection:
            [[position]] = connection.execute("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn").fetchall()
        return int(position)

    def processor_seconds(self) -> tuple[float, float, float]:
        """Return the CPU time in seconds of the servers, the storage and wrk."""
        servers = [server.pid for server in self.servers]
        return processor_seconds(servers), processor_seconds(self.storage), children_seconds()

    def read(self, found: dict[str, int], connections: int, spent: list[float], wal: int) -> Run:
        requests = found["requests"]
        self.answered += requests - found["refused"]
        self.cut_off += connections
        units = max(requests, 1) * self.unit
        return Run(
            units / found["microseconds"] * 1e6,
            found["p50"] / 1000,
            found["p99"] / 1000,
            found["refused"] + found["broken"],
            spent[0] / units * 1e6,
            spent[1] / units * 1e6,
            spent[2] / units * 1e6,
            wal / units,
        )

    def middle(self, what: str) -> float:
        return median(getattr(run, what) for run in self.runs)


def children_seconds() -> float:
    """Return the CPU time in seconds of ended children; the difference between two calls is wrk's, or a command's."""
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


def raw_posts(url: str, headers: Mapping[str, str], bodies: Sequence[str]) -> list[bytes]:
    """Return POSTs as the bytes that a client sends."""
    address = urlsplit(url)
    lines = [f"POST {address.path} HTTP/1.1", f"Host: {address.netloc}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    head = "\r\n".join(lines)
    posts = []
    for body in bodies:
        content = body.encode()
        posts.append(f"{head}\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content)
    return posts


class Connection(asyncio.Protocol):
    """A connection that serves one request at a time."""

    def __init__(self, arrivals: "Arrivals") -> None:
        self.arrivals = arrivals
        self.due = 0.0  # when its request should have been sent
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, end, body = self.received.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if end and length is not None and len(body) >= int(length[1]):
            self.received = b""
            self.arrivals.note_reply(self, is_success=head[9:10] == b"2")


class Arrivals:
    """Requests at random times over a fixed number of connections, in the order of their arrival."""

    def __init__(self, url: str, posts: Sequence[bytes]) -> None:
        self.address = urlsplit(url)
        self.posts = cycle(posts)
        self.idle: list[Connection] = []
        self.waiting: deque[float] = deque()
        self.times: list[float] = []
        self.refused = 0

    async def send(self, rate: float, seconds: float, connections: int) -> tuple[list[float], int]:
        """Return the seconds of each reply, and how many were not successful."""
        loop, draw = asyncio.get_running_loop(), random.Random(1)
        for _ in range(connections):
            host, port = str(self.address.hostname), int(self.address.port or 80)
            _, connection = await loop.create_connection(lambda: Connection(self), host, port)
            self.idle.append(connection)
        due = loop.time()
        end = due + seconds
        sent = 0
        while (due := due + draw.expovariate(rate)) < end:
            if (wait := due - loop.time()) > 0:
                await asyncio.sleep(wait)
            self.waiting.append(due)
            self.send_waiting()
            sent += 1
        while len(self.times) < sent:
            await asyncio.sleep(0.01)
        for connection in self.idle:
            connection.transport.close()
        return self.times, self.refused

    def send_waiting(self) -> None:
        while self.waiting and self.idle:
            connection = self.idle.pop()
            connection.due = self.waiting.popleft()
            connection.transport.write(next(self.posts))

    def note_reply(self, connection: Connection, *, is_success: bool) -> None:
        self.times.append(asyncio.get_running_loop().time() - connection.due)
        self.refused += not is_success
        self.idle.append(connection)
        self.send_waiting()
