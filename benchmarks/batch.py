"""Decisions per second in batches of 50 checks of different items, against Cerbos' batches of 50 resources.

python -m benchmarks.batch [--cerbos PATH]
"""

from benchmarks.cerbos import binary, cerbos_side
from benchmarks.harness import workplace
from benchmarks.load import measure
from benchmarks.ours import installed
from benchmarks.report import load_of, parser, publish, runs_of, table
from benchmarks.traffic import BATCH, traffic_side


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--cerbos", metavar="PATH")
    options = arguments.parse_args()
    command = binary(options.cerbos)
    with workplace() as (stack, directory, services):
        assert services
        ours = traffic_side(installed(stack, "ours", directory, services), "this service", BATCH)
        peer = cerbos_side(stack, "Cerbos, file log", directory, command, BATCH)
        tuned = cerbos_side(stack, "Cerbos, file log, GOGC=400", directory, command, BATCH, GOGC="400")
        sides = [ours.side, peer, tuned]
        measure(sides, **load_of(options))
        ours.expect_all_stored()
        publish("batch", table(sides, peer, "decision"), runs_of(sides), options)


if __name__ == "__main__":
    main()
