"""A single access check, against a straightforward implementation and a minimal Django view.

    python -m benchmarks.straightforward            # PostgreSQL and Valkey
    python -m benchmarks.straightforward --sqlite   # SQLite embedded, synchronous=FULL

The same server (uvicorn) serves all sides alternately. The reference is benchmarks/plain_check.py. Another side is the
service's own Django view, which serves the checks that the event loop leaves to it.
"""

import json
import os
from contextlib import ExitStack
from pathlib import Path

import httpx

from benchmarks.harness import ServerProcess, Services, expect, uvicorn, workplace
from benchmarks.load import Side, measure, post_script
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, LICENSED, UNLICENSED, Ours, installed, our_side, side_of
from benchmarks.report import load_of, parser, publish, runs_of, table
from tests.services import free_port


def minimal_side(stack: ExitStack, name: str, directory: Path, application: str, path: str) -> Side:
    port = free_port()
    url = f"http://127.0.0.1:{port}/{path}"
    command = uvicorn(f"benchmarks.minimal_django:{application}", port)
    server = ServerProcess(name, command, dict(os.environ), url, directory / f"{path}.log")
    stack.callback(server.stop)
    server.start()
    for requester, wanted in ((LICENSED, True), (UNLICENSED, False)):
        reply = httpx.post(url, json={"requester": requester}, timeout=10).json()
        expect(reply == {"allowed": wanted}, f"{name} answers {reply}")
    body = json.dumps({"contentId": "cnt_1", "requester": LICENSED, "permission": "commercial_use"})
    script = post_script(directory / f"{path}.lua", {"Content-Type": "application/json"}, body)
    return Side(name, url, script, (server,))


def plain_side(stack: ExitStack, directory: Path, services: Services | None) -> Ours:
    """Return the straightforward version as a side, on its own database with policy and item from the service."""
    made = installed(stack, "plain", directory, services)
    items = made.items(made.policy(ALLOW_LICENSED, DENY_ALL))
    # On SQLite one process, which counts limits in its memory, and few threads: they write one at a time.
    workers, threads = ("2", "4") if services else ("1", "2")
    command = [*uvicorn("benchmarks.plain_wsgi:application", made.port), "--workers", workers]
    made.serve_instead(command, DJANGO_SETTINGS_MODULE="benchmarks.plain_settings", THREADS=threads)
    return side_of(made, "straightforward", items, totals=False)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--sqlite", action="store_true", help="SQLite embedded, without Valkey")
    options = arguments.parse_args()
    with workplace(storage=not options.sqlite) as (stack, directory, services):
        ours = our_side(stack, "this service", directory, services)
        view = our_side(
            stack,
            "this service's Django view",
            directory,
            services,
            slug="view",
            application="benchmarks.django_view:application",
        )
        plain = plain_side(stack, directory, services)
        sides = [ours.side, view.side, plain.side]
        if not options.sqlite:
            sides += [
                minimal_side(stack, "minimal Django view, Django's ASGI handler", directory, "on_the_loop", "loop"),
                minimal_side(stack, "minimal Django view, WSGI in threads", directory, "in_threads", "threads"),
            ]
        measure(sides, **load_of(options))
        for side in (ours, view, plain):
            side.expect_all_stored()
        place = "straightforward --sqlite" if options.sqlite else "straightforward"
        publish(place, table(sides, plain.side, "check"), runs_of(sides), options)


if __name__ == "__main__":
    main()
