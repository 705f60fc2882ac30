"""A check and a batch of 50 behind PgBouncer in transaction mode, with the same straight to PostgreSQL.

    python -m benchmarks.pooling

Behind PgBouncer the service prepares no statements (DATABASE_POOLING=transaction), so PostgreSQL plans each anew.
"""

import sys

from benchmarks.harness import workplace
from benchmarks.load import measure
from benchmarks.ours import Ours, installed
from benchmarks.report import load_of, parser, publish, runs_of, table
from benchmarks.traffic import BATCH, traffic_side
from tests.services import pgbouncer

SERVE = (sys.executable, "manage.py", "serve")


def main() -> None:
    options = parser(__doc__).parse_args()
    with workplace() as (stack, directory, services):
        assert services
        pooler = stack.enter_context(pgbouncer(services.postgres, "transaction"))
        texts, results = [], {}
        for unit in ("check", "decision"):
            sides: list[Ours] = []
            for name in ("behind PgBouncer", "straight to PostgreSQL"):
                made = installed(stack, f"{unit}_{len(sides)}", directory, services)
                if not sides:
                    behind = made.database.replace(f":{services.postgres.port}/", f":{pooler.port}/")
                    made.serve_instead(SERVE, DATABASE_URL=behind, DATABASE_POOLING="transaction")
                sides.append(traffic_side(made, name, 1 if unit == "check" else BATCH))
            timed = [side.side for side in sides]
            measure(timed, **load_of(options))
            for side in sides:
                side.expect_all_stored()
            texts.append(table(timed, timed[1], unit))
            results[unit] = runs_of(timed)
        publish("pooling", "\n\n".join(texts), results, options)


if __name__ == "__main__":
    main()
