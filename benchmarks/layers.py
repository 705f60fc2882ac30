"""Each hand-written layer of a check's path, against the library that could replace it.

    python -m benchmarks.layers

A side without a layer (benchmarks.without) runs alternately with the service as it is.
"""

import sys
from contextlib import ExitStack

from benchmarks.harness import workplace
from benchmarks.ours import Installation, installed
from benchmarks.report import parser
from benchmarks.traffic import measure_checks_and_batches

LAYERS = {
    "protocol": "uvicorn's protocol",
    "whole_request": "uvicorn's request",
    "async_postgres": "psycopg's cursors",
    "limiter_async": "redis-py's pipelines",
    "light_tasks": "asyncio tasks",
    "microbatch": "each request alone",
}  # in benchmarks.without, and what replaces them there
SERVE = "import django; django.setup(); from benchmarks.without import serve_without; serve_without({!r})"


def main() -> None:
    options = parser(__doc__).parse_args()
    with workplace() as (stack, directory, services):
        servers = stack.enter_context(ExitStack())

        def install(unit: str) -> list[tuple[str, Installation]]:
            servers.close()  # those of the unit before: all together have more connections than PostgreSQL
            sides = {"as it is": installed(servers, unit, directory, services)}
            for layer, instead in LAYERS.items():
                side = sides[f"{layer}: {instead}"] = installed(servers, f"{unit}_{layer}", directory, services)
                side.serve_instead((sys.executable, "-c", SERVE.format(layer)))
            first, *others = sides.items()
            return [others[0], first, *others[1:]]  # the second one is the reference

        measure_checks_and_batches("layers", options, install)


if __name__ == "__main__":
    main()
