"""Whether an answered check is on disk: strace watches the database sync its write-ahead log.

    python -m benchmarks.syncs [--sqlite] [--seconds 5] [--careless]

Each answered check needs a complete, successful sync of the log, begun after the request and ended before the reply.
`--careless` is the control: PostgreSQL with synchronous_commit off must fail.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from benchmarks.attacking import by_many
from benchmarks.harness import expect, workplace
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, LICENSED, Installation, installed

CONNECTIONS = (1, 25)
IS_SYNC = re.compile(r"([\d.]+) f(?:data)?sync\(\d+<(.*?)>\).*= 0 <([\d.]+)>").match


@dataclass(frozen=True)
class Span:
    begin: float  # Unix seconds
    end: float


@contextmanager
def traced(process: psutil.Process, directory: Path) -> Iterator[None]:
    pids = [word for one in (process, *process.children(recursive=True)) for word in ("-p", str(one.pid))]
    command = ["strace", "-ff", "-q", "-ttt", "-T", "-y", "-e", "trace=fsync,fdatasync", "-o", str(directory / "t")]
    tracer = subprocess.Popen([*command, *pids])
    time.sleep(2)  # until it has attached
    try:
        yield
    finally:
        tracer.terminate()
        tracer.wait()


def syncs(directory: Path, log: str) -> list[Span]:
    found = []
    for file in directory.iterdir():
        for line in file.read_text(errors="replace").splitlines():
            if (match := IS_SYNC(line)) and log in match[2]:
                found.append(Span(float(match[1]), float(match[1]) + float(match[3])))
    return sorted(found, key=lambda span: span.begin)


def load(made: Installation, item: str, connections: int, seconds: float) -> list[Span]:
    """Send checks one by one on each connection; return the answered ones."""
    answered: list[Span] = []
    until = time.time() + seconds

    def client() -> None:
        with httpx.Client(base_url=made.url, headers=made.headers, timeout=30) as own:
            while (begin := time.time()) < until:
                reply = own.post("/v1/access/check", json={"contentId": item, "requester": LICENSED})
                if reply.status_code == 200:
                    answered.append(Span(begin, time.time()))

    by_many(connections, client)
    return answered


def covered(answered: Sequence[Span], synced: Sequence[Span]) -> int:
    return sum(any(one.begin <= sync.begin and sync.end <= one.end for sync in synced) for one in answered)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sqlite", action="store_true")
    parser.add_argument("--careless", action="store_true", help="with synchronous_commit off, which must fail")
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    if not shutil.which("strace"):
        sys.exit("There is no strace: on Debian `apt install strace`.")
    with workplace(storage=not options.sqlite) as (stack, directory, services):
        if options.careless:
            os.environ["PGOPTIONS"] = "-c synchronous_commit=off"  # for the service's own connections
        made = installed(stack, "syncs", directory, services)
        [item] = made.items(made.policy(ALLOW_LICENSED, DENY_ALL))
        database = services.postgres.process if services else made.server.process
        assert database
        for connections in CONNECTIONS:
            traces = directory / f"traces_{connections}"
            traces.mkdir()
            load(made, item, connections, 0.5)
            with traced(psutil.Process(database.pid), traces):
                answered = load(made, item, connections, options.seconds)
            synced = syncs(traces, "pg_wal" if services else "-wal")
            safe = covered(answered, synced)
            name = "PostgreSQL" if services else "SQLite"
            print(
                f"{name}, {connections} connections: {len(answered)} checks answered, "
                f"{len(synced)} syncs of the log; a whole one between request and reply for {safe}.",
                flush=True,
            )
            expect(safe == len(answered), f"{len(answered) - safe} checks were answered before they were on disk")


if __name__ == "__main__":
    main()
