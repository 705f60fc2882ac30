"""Exports of a long list from a running server, and checks beside them.

    python -m benchmarks.exports [--events 500000] [--seconds 10] [--readme]

Downloads the list of decisions as CSV and as JSON Lines, plain and with gzip. Then a customer checks at a steady rate,
alone and beside such a download. The downloads run in a separate process and begin again when they end.
"""

import multiprocessing
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.synchronize import Event
from zlib import MAX_WBITS, decompressobj

import httpx

from benchmarks.attacks import SETTLE_SECONDS, Kind
from benchmarks.growth_data import Data
from benchmarks.harness import workplace
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, LICENSED, UNLICENSED, Installation, installed
from benchmarks.report import parser, publish
from benchmarks.strangers import RATE

PATH = "/v1/access/decisions"
FORMS = [("csv", "identity"), ("csv", "gzip"), ("jsonl", "identity"), ("jsonl", "gzip")]


def name_of(form: str, coding: str) -> str:
    return f"{form}, {'plain' if coding == 'identity' else coding}"


@dataclass(frozen=True)
class Download:
    form: str
    coding: str
    rows: float  # per second
    size: float  # MB per second, as sent


@dataclass(frozen=True)
class Checks:
    beside: str
    p50: float  # milliseconds
    p99: float
    errors: int


def stream(url: str, headers: dict[str, str], form: str, coding: str) -> Generator[tuple[int, int]]:
    """Yield the rows and bytes of each received part of an export."""
    inflate = decompressobj(MAX_WBITS | 16) if coding == "gzip" else None
    with (
        httpx.Client(headers={**headers, "Accept-Encoding": coding}, timeout=60) as client,
        client.stream("GET", f"{url}{PATH}", params={"format": form}) as reply,
    ):
        reply.raise_for_status()
        for part in reply.iter_raw():
            text = inflate.decompress(part) if inflate else part
            yield text.count(b"\n"), len(part)


def download(made: Installation, form: str, coding: str, seconds: float) -> Download:
    rows = size = 0
    parts = stream(made.url, made.headers, form, coding)
    next(parts)
    began = time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds:
        more, length = next(parts, (0, 0))
        if not length:
            break
        rows, size = rows + more, size + length
    parts.close()
    return Download(form, coding, rows / spent, size / spent / 1e6)


def download_until(ended: Event, url: str, headers: dict[str, str], form: str, coding: str) -> None:
    while not ended.is_set():
        for _ in stream(url, headers, form, coding):
            if ended.is_set():
                return


@contextmanager
def downloading(made: Installation, form: str, coding: str) -> Iterator[None]:
    processes = multiprocessing.get_context("spawn")
    ended = processes.Event()
    process = processes.Process(target=download_until, args=(ended, made.url, made.headers, form, coding), daemon=True)
    process.start()
    try:
        yield
    finally:
        ended.set()
        process.join()


def checks(made: Installation, item: str, seconds: float, beside: str) -> Checks:
    body = {"contentId": item, "requester": LICENSED}
    kind = Kind("checks", RATE, lambda client: client.post("/v1/access/check", json=body))
    with httpx.Client(base_url=made.url, headers=made.headers, timeout=60) as client:
        kind.send(client)
        time.sleep(SETTLE_SECONDS)
        kind.run(client, time.perf_counter(), seconds)
    return Checks(beside, kind.percentile(50), kind.percentile(99), kind.errors)


def table(downloads: list[Download], checked: list[Checks]) -> str:
    rows = ["| export | rows/s | MB/s sent |", "|---|---:|---:|"]
    rows += [f"| {name_of(one.form, one.coding)} | {one.rows:,.0f} | {one.size:.1f} |" for one in downloads]
    rows += ["", f"| {RATE} checks/s beside | p50 ms | p99 ms | errors |", "|---|---:|---:|---:|"]
    rows += [f"| {one.beside} | {one.p50:.1f} | {one.p99:.1f} | {one.errors} |" for one in checked]
    return "\n".join(rows)


def main() -> None:
    options = parser(__doc__, load=False, repeated=False)
    options.add_argument("--events", type=int, default=500_000)
    options.set_defaults(seconds=10)
    given = options.parse_args()
    with workplace() as (stack, directory, services):
        made = installed(stack, "exports", directory, services)
        [item] = made.items(made.policy(ALLOW_LICENSED, DENY_ALL))
        made.expect_decisions(item, LICENSED, UNLICENSED)
        data = Data(made)
        data.items(1_000, 1)
        data.events(given.events)
        data.close()
        downloads = [download(made, form, coding, given.seconds) for form, coding in FORMS]
        checked = [checks(made, item, given.seconds, "nothing")]
        for form, coding in FORMS:
            with downloading(made, form, coding):
                checked.append(checks(made, item, given.seconds, name_of(form, coding)))
    text = f"{given.events:,} decisions:\n\n{table(downloads, checked)}"
    found = {"downloads": [asdict(one) for one in downloads], "checks": [asdict(one) for one in checked]}
    publish("exports", text, found, given)


if __name__ == "__main__":
    main()
