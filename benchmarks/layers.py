"""Each hand-written layer of a check's path, against the library that could replace it.

    python -m benchmarks.layers

For each layer the service without it (benchmarks.without) and the service as it is run alternately: single checks,
then batches of 50.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.harness import Services, workplace
from benchmarks.load import Side, measure
from benchmarks.ours import installed
from benchmarks.report import load_of, parser, publish, ratio, runs_of
from benchmarks.traffic import BATCH, traffic_side

LAYERS = {
    "protocol": "uvicorn's protocol",
    "whole_request": "uvicorn's request",
    "async_postgres": "psycopg's cursors",
    "light_tasks": "asyncio tasks",
    "microbatch": "each request alone",
}  # in benchmarks.without, and what replaces them there
UNITS = {"check": 1, "decision": BATCH}
SERVE = "import django; django.setup(); from benchmarks.without import serve_without; serve_without({!r})"


def sides_of(
    servers: ExitStack, directory: Path, services: Services | None, layer: str, unit: str
) -> tuple[Side, Side]:
    """Install the service twice; return it without the layer, and as it is."""
    without, whole = (installed(servers, f"{unit}_{layer}_{n}", directory, services) for n in range(2))
    without.serve_instead((sys.executable, "-c", SERVE.format(layer)))
    sides = [traffic_side(without, layer, UNITS[unit]), traffic_side(whole, "as it is", UNITS[unit])]
    return sides[0].side, sides[1].side


def row_of(layer: str, pairs: Sequence[tuple[Side, Side]]) -> str:
    cells = [layer, LAYERS[layer]]
    for without, whole in pairs:
        cells.append(ratio(without, whole))
        cells += [f"{side.middle(part):.0f}" for part in ("server_cpu", "storage_cpu") for side in (without, whole)]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    options = parser(__doc__).parse_args()
    names = [
        name
        for unit in UNITS
        for name in (f"{unit}s/s, times", "server, µs", "with the layer", "storage, µs", "with the layer")
    ]
    lines = [f"| layer | instead | {' | '.join(names)} |", f"| --- | --- |{' ---: |' * len(names)}"]
    results = {}
    with workplace() as (_, directory, services):
        for layer in LAYERS:
            pairs = []
            for unit in UNITS:
                with ExitStack() as servers:
                    pair = sides_of(servers, directory, services, layer, unit)
                    measure(pair, **load_of(options))
                    results[f"{layer}, {unit}"] = runs_of(pair)
                    pairs.append(pair)
            lines.append(row_of(layer, pairs))
    publish("layers", "\n".join(lines), results, options)


if __name__ == "__main__":
    main()
