"""Merge and erase a customer with 9,990 licences beside another account's checks.

    python -m benchmarks.merging [--sqlite] [--licenses 9990]

Prints the seconds of each request and the CPU seconds of the service and its database, and the other account's checks
meanwhile (20 a second): median, 99th percentile and slowest in milliseconds.
"""

import time
from collections.abc import Callable
from statistics import median, quantiles
from threading import Event, Thread

import httpx
import psutil

from benchmarks.harness import due_moments, expect, workplace
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, LICENSED, Installation, installed
from benchmarks.report import machine, parser

ROWS = 999  # of a request
RATE = 20  # checks a second
SENDER, RECEIVER = "org_former", "org_new"


def licensee(made: Installation, licenses: int) -> httpx.Client:
    """Return the client of another account, with a customer that holds the licences."""
    _, key = made.account_with_key("Licensee")
    client = httpx.Client(base_url=made.url, headers={"Authorization": f"Bearer {key}"}, timeout=600)
    for requester in (SENDER, RECEIVER):
        client.post("/v1/requesters", json={"id": requester, "name": requester}).raise_for_status()
    for begin in range(0, licenses, ROWS):
        numbers = range(begin, min(begin + ROWS, licenses))
        rows = [{"requesterId": SENDER, "licenseType": "commercial", "externalId": f"lic-{n}"} for n in numbers]
        reply = client.post("/v1/licenses/bulk", json={"items": rows}).raise_for_status().json()
        expect(all(row["status"] == 201 for row in reply["data"]), f"a licence is refused: {reply}"[:500])
    return client


class Checks:
    """Another account's checks, whose times count from when each was due."""

    def __init__(self, made: Installation, item: str) -> None:
        self.milliseconds: list[float] = []
        self.body = {"contentId": item, "requester": LICENSED}
        self.client, self.ended = made.client, Event()
        self.thread = Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        for due in due_moments(RATE, self.ended):
            status = self.client.post("/v1/access/check", json=self.body).status_code
            expect(status == httpx.codes.OK, f"a check is answered {status}")
            self.milliseconds.append((time.perf_counter() - due) * 1000)

    def end(self) -> None:
        self.ended.set()
        self.thread.join()


def cpu_seconds(root: int) -> float:
    """Return the CPU seconds of all processes that the benchmark started, but not its own."""
    processes = psutil.Process(root).children(recursive=True)
    return sum(sum(process.cpu_times()[:2]) for process in processes if process.is_running())


def measured(name: str, made: Installation, item: str, request: Callable[[], httpx.Response]) -> None:
    checks = Checks(made, item)
    time.sleep(1)
    spent, began = cpu_seconds(psutil.Process().pid), time.perf_counter()
    reply = request()
    seconds, spent = time.perf_counter() - began, cpu_seconds(psutil.Process().pid) - spent
    time.sleep(1)
    checks.end()
    expect(reply.is_success, f"{name} is answered {reply.status_code}: {reply.text[:500]}")
    times = checks.milliseconds
    last = quantiles(times, n=100, method="inclusive")[98]
    print(
        f"| {name} | {seconds:.2f} | {spent:.2f} | {median(times):.1f} | {last:.1f} | {max(times):.1f} |", flush=True
    )


def main() -> None:
    options = parser(__doc__, load=False, repeated=False)
    options.add_argument("--sqlite", action="store_true")
    options.add_argument("--licenses", type=int, default=9_990)
    given = options.parse_args()
    with workplace(storage=not given.sqlite) as (stack, directory, services):
        made = installed(stack, "merging", directory, services)
        [item] = made.items(made.policy(ALLOW_LICENSED, DENY_ALL))
        client = licensee(made, given.licenses)
        print(f"{given.licenses:,} licences on {'SQLite' if given.sqlite else 'PostgreSQL'}. {machine()}.\n")
        print("| request | s | CPU s | checks p50, ms | p99, ms | slowest, ms |")
        print("|---|---:|---:|---:|---:|---:|")
        merge = f"/v1/requesters/{SENDER}/merge"
        measured("merge", made, item, lambda: client.post(merge, json={"into": RECEIVER}))
        measured("erase", made, item, lambda: client.delete(f"/v1/requesters/{RECEIVER}"))


if __name__ == "__main__":
    main()
