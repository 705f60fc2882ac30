"""A single access check, against a straightforward implementation.

    python -m benchmarks.straightforward            # PostgreSQL and Valkey
    python -m benchmarks.straightforward --sqlite   # SQLite embedded, synchronous=FULL

The same server (uvicorn) serves both alternately. The reference is benchmarks/plain_check.py.
"""

import json
from contextlib import ExitStack
from pathlib import Path

from benchmarks.harness import Services, uvicorn, workplace
from benchmarks.load import Side, measure, post_script
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, LICENSED, UNLICENSED, Installation, Ours, installed
from benchmarks.report import load_of, parser, publish, runs_of, table


def create_side(made: Installation, name: str, items: list[str], *, totals: bool = True) -> Ours:
    """Verify a decision and return the installation as a side; `totals`: whether it stores totals."""
    made.expect_decisions(items[0], LICENSED, UNLICENSED)
    body = json.dumps({"contentId": items[0], "requester": LICENSED, "permission": "commercial_use"})
    script = post_script(made.directory / "load.lua", made.headers, body)
    url = f"{made.url}/v1/access/check"
    storage = made.services.pids if made.services else ()
    side = Side(name, url, script, (made.server,), storage)
    return Ours(made, items if totals else None, body, side, made.rows())


def plain_side(stack: ExitStack, directory: Path, services: Services | None) -> Ours:
    """Return the straightforward version as a side, on its own database with policy and item from the service."""
    made = installed(stack, "plain", directory, services)
    items = made.items(made.policy(ALLOW_LICENSED, DENY_ALL))
    # On SQLite one process, which counts limits in its memory, and few threads: they write one at a time.
    workers, threads = ("2", "4") if services else ("1", "2")
    command = [*uvicorn("benchmarks.plain_wsgi:application", made.port), "--workers", workers]
    made.serve_instead(command, DJANGO_SETTINGS_MODULE="benchmarks.plain_settings", THREADS=threads)
    return create_side(made, "straightforward", items, totals=False)


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--sqlite", action="store_true", help="SQLite embedded, without Valkey")
    options = arguments.parse_args()
    with workplace(storage=not options.sqlite) as (stack, directory, services):
        made = installed(stack, "ours", directory, services)
        ours = create_side(made, "this service", made.items(made.policy(ALLOW_LICENSED, DENY_ALL)))
        plain = plain_side(stack, directory, services)
        sides = [ours.side, plain.side]
        measure(sides, **load_of(options))
        for side in (ours, plain):
            side.expect_all_stored()
        place = "straightforward --sqlite" if options.sqlite else "straightforward"
        publish(place, table(sides, plain.side, "check"), runs_of(sides), options)


if __name__ == "__main__":
    main()
