"""The cost of a check as data grows: items, policies, rules, requesters, recorded events and their partitions.

    python -m benchmarks.growth
    python -m benchmarks.growth --items 20000 --events 50000 --draws 100000   # smaller

Each size has its own installation (database, process) on one PostgreSQL: the first is small, each other one is larger
in one respect. Requests use random items and requesters: Zipf-like (1/rank), or uniformly (`--draw uniform`).
"""

import json
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.growth_data import Data, drawn_script
from benchmarks.harness import Services, workplace
from benchmarks.load import Side, measure
from benchmarks.ours import ALLOW_LICENSED, LICENSED, UNLICENSED, Installation, installed
from benchmarks.report import load_of, parser, publish, runs_of, table


@dataclass(frozen=True)
class Size:
    items: int = 1_000
    policies: int = 1
    rules: int = 1  # of each policy; only the last one matches
    requesters: int = 1
    events: int = 0
    daily_partitions: int = 0  # of events, beside those of this month and the next ones

    @property
    def name(self) -> str:
        grown = [text for name, text in self.texts().items() if getattr(self, name) != getattr(SMALL, name)]
        return ", ".join(grown) or "small: " + ", ".join(self.texts().values())

    def texts(self) -> dict[str, str]:
        return {name: f"{value:,} {name.replace('_', ' ')}" for name, value in vars(self).items()}


SMALL = Size()


@dataclass
class Grown:
    size: Size
    made: Installation
    items: list[str]
    requesters: list[str]
    rows_before: int

    def side(self, draw: str, count: int) -> Side:
        path = self.made.directory / f"{draw}.lua"
        script = drawn_script(path, self.made, self.items, self.requesters, draw, count)
        return self.made.side(self.size.name, script)


def grow(stack: ExitStack, slug: str, directory: Path, services: Services, size: Size) -> Grown:
    """Create and start an installation of that size, and verify its decisions."""
    made = installed(stack, slug, directory, services)
    others = [{**ALLOW_LICENSED, "conditions": {"licenseType": f"tier-{number}"}} for number in range(1, size.rules)]
    policy = made.policy(*others, {**ALLOW_LICENSED, "priority": 2})
    [item] = made.items(policy)
    made.expect_decisions(item, LICENSED, UNLICENSED)
    data = Data(made)
    data.policies(size.policies)
    data.items(size.items, size.policies)
    requesters = data.requesters(size.requesters)
    data.events(size.events)
    data.daily_partitions(size.daily_partitions)
    items = data.content_ids()
    data.close()
    made.expect_decisions(items[-1], LICENSED, UNLICENSED)
    return Grown(size, made, items, requesters, made.rows())


def main() -> None:
    arguments = parser(__doc__)
    for name, default in {
        "items": 1_000_000,
        "policies": 1_000,
        "rules": 100,
        "requesters": 10_000,
        "events": 10_000_000,
        "daily_partitions": 90,
    }.items():
        option = f"--{name.replace('_', '-')}"
        arguments.add_argument(option, type=int, nargs="*", default=[default], help=f"default {default:,}")
    arguments.add_argument("--draws", type=int, default=1_000_000, help="requests before a drawn list repeats")
    arguments.add_argument(
        "--draw",
        choices=["zipf", "uniform"],
        nargs="+",
        default=["zipf"],
        help="how popular each is: 1/rank (default), or all alike; given both, in separate runs",
    )
    options = arguments.parse_args()
    sizes = [SMALL]
    for name in vars(SMALL):
        sizes += [replace(SMALL, **{name: number}) for number in getattr(options, name)]
    with workplace() as (stack, directory, services):
        assert services
        all_grown = [grow(stack, f"size_{number}", directory, services, size) for number, size in enumerate(sizes)]
        texts, results = [], {}
        for how in options.draw:
            sides = [grown.side(how, options.draws) for grown in all_grown]
            measure(sides, **load_of(options))
            for grown, side in zip(all_grown, sides, strict=True):
                body = json.dumps({"contentId": grown.items[0], "requester": LICENSED})
                grown.made.expect_all_stored(side, grown.rows_before, body)
                grown.rows_before = grown.made.rows()
            texts.append(f"Items and requesters drawn {how}:\n\n{table(sides, sides[0], 'check')}")
            results[how] = runs_of(sides)
        publish("growth", "\n\n".join(texts), results, options)


if __name__ == "__main__":
    main()
