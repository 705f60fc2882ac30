"""A single access check, against a straightforward implementation.

    python -m benchmarks.straightforward            # PostgreSQL and Valkey
    python -m benchmarks.straightforward --sqlite   # SQLite embedded, synchronous=FULL

The same server (uvicorn) serves both alternately. The reference is benchmarks/plain_check.py.
"""

from contextlib import ExitStack
from pathlib import Path

from benchmarks.harness import Services, uvicorn, workplace
from benchmarks.load import measure
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, Ours, create_side, installed
from benchmarks.report import load_of, parser, publish, runs_of, table


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
