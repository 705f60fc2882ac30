"""Webhook delivery: a dead endpoint beside a live one at a steady rate, and the draining of a backlog.

    python -m benchmarks.webhooks [--rate N] [--seconds N] [--backlog N] [--drain-seconds N]

Uses the empty database of DATABASE_URL (`python -m tests.services python -m benchmarks.webhooks` starts one), or its
own SQLite.

The receivers run in this process, on loopback; the worker is `manage.py deliver_webhooks` in another process, whose
memory is measured.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from tempfile import TemporaryDirectory

import django
import psutil

directory = TemporaryDirectory()
os.environ |= {"DATA_DIR": directory.name, "WEBHOOKS_ALLOW_PRIVATE": "on"}
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.core.management import call_command  # noqa: E402 - needs the settings
from django.db import transaction  # noqa: E402

from accounts.events import recording  # noqa: E402
from accounts.events.models import Event  # noqa: E402
from accounts.plans.services import create_account  # noqa: E402
from accounts.webhooks.services import create_endpoint  # noqa: E402
from kit.storage.sqlite_turns import turn_to_write  # noqa: E402
from licensing.content.services import create_content  # noqa: E402

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Receiver:
    """A receiver that answers at once, or never, and records each event's arrival."""

    def __init__(self, *, silent: bool) -> None:
        self.silent = silent
        self.came: dict[str, float] = {}

    async def serve(self) -> str:
        self.server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        event = json.loads(await reader.readexactly(length))
        self.came.setdefault(event["id"], time.time())
        if self.silent:
            with suppress(asyncio.CancelledError):  # at the end
                await asyncio.sleep(20)
        writer.write(OK)
        writer.close()


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def in_megabytes(pid: int) -> float:
    return psutil.Process(pid).memory_info().rss / 1e6


async def until(condition: Callable[[], bool], seconds: float, look: Callable[[], None] = lambda: None) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "It took too long."
        look()
        await asyncio.sleep(0.1)


async def steady(account: str, rate: int, seconds: int) -> None:
    live, dead = Receiver(silent=False), Receiver(silent=True)
    for receiver in (live, dead):
        await asyncio.to_thread(create_endpoint, account, {"url": await receiver.serve(), "events": ["*"]})
    await asyncio.to_thread(create_content, account, {"title": "The worker has begun"})
    await until(lambda: bool(live.came), 120)
    live.came.clear()
    begun = time.monotonic()

    def change() -> None:
        for number in range(rate * seconds):
            time.sleep(max(0.0, begun + number / rate - time.monotonic()))
            with turn_to_write():  # as a request does
                create_content(account, {"title": f"Item {number}"})

    await asyncio.to_thread(change)
    took = time.monotonic() - begun
    await until(lambda: len(live.came) >= rate * seconds, 60)
    made = dict(await asyncio.to_thread(lambda: list(Event.objects.values_list("pk", "created"))))
    delays = [moment - made[event].timestamp() for event, moment in live.came.items()]
    print(
        f"{len(delays):,} events at {len(delays) / took:.0f}/s beside a dead endpoint ({len(dead.came)} attempts): "
        f"p50 {percentile(delays, 0.5) * 1000:.0f} ms, p99 {percentile(delays, 0.99) * 1000:.0f} ms"
    )


async def drain(account: str, backlog: int, pid: int, most_seconds: int) -> None:
    receiver = Receiver(silent=False)
    await asyncio.to_thread(create_endpoint, account, {"url": await receiver.serve(), "events": ["*"]})

    def fill() -> None:
        for first in range(0, backlog, 5_000):
            count = min(5_000, backlog - first)
            with turn_to_write(), transaction.atomic():
                recording.write(
                    [recording.make(account, "content.created", account, {"title": "x" * 200}) for _ in range(count)]
                )

    before = in_megabytes(pid)
    most = [before]
    await asyncio.to_thread(fill)
    filled = len(receiver.came)
    begun = time.monotonic()
    end = begun + most_seconds
    is_over = lambda: len(receiver.came) >= backlog or time.monotonic() > end  # noqa: E731
    await until(is_over, most_seconds + 60, lambda: most.append(in_megabytes(pid)))
    gone, took = len(receiver.came) - filled, time.monotonic() - begun
    print(
        f"{backlog - filled:,} waiting: {gone:,} delivered in {took:.0f} s, {gone / took:.0f}/s; "
        f"memory of the worker {before:.0f} MB before, {max(most):.0f} MB at most, {most[-1]:.0f} MB at the end"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=200, help="changes a second")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--backlog", type=int, default=100_000)
    parser.add_argument("--drain-seconds", type=int, default=1_800, help="after which what still waits is left")
    options = parser.parse_args()
    call_command("migrate", verbosity=0)
    first, second = (create_account(name, plan="professional").pk for name in ("Steady", "Backlog"))
    with directory:
        worker = subprocess.Popen([sys.executable, "manage.py", "deliver_webhooks"])
        try:
            asyncio.run(steady(first, options.rate, options.seconds))
            asyncio.run(drain(second, options.backlog, worker.pid, options.drain_seconds))
        finally:
            worker.terminate()
            worker.wait()


if __name__ == "__main__":
    main()
