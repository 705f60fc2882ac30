"""A check and a batch of 50 through PgBouncer in transaction mode, against a direct connection to PostgreSQL.

    python -m benchmarks.pooling

Behind PgBouncer the service prepares no statements (DATABASE_POOLING=transaction), so PostgreSQL plans each one.
"""

import sys

from benchmarks.harness import workplace
from benchmarks.ours import Installation, installed
from benchmarks.report import parser
from benchmarks.traffic import measure_checks_and_batches
from tests.services import pgbouncer

SERVE = (sys.executable, "manage.py", "serve")


def main() -> None:
    options = parser(__doc__).parse_args()
    with workplace() as (stack, directory, services):
        assert services
        pooler = stack.enter_context(pgbouncer(services.postgres, "transaction"))

        def install(unit: str) -> list[tuple[str, Installation]]:
            behind = installed(stack, f"{unit}_behind", directory, services)
            url = behind.database.replace(f":{services.postgres.port}/", f":{pooler.port}/")
            behind.serve_instead(SERVE, DATABASE_URL=url, DATABASE_POOLING="transaction")
            straight = installed(stack, f"{unit}_straight", directory, services)
            return [("behind PgBouncer", behind), ("straight to PostgreSQL", straight)]

        measure_checks_and_batches("pooling", options, install)


if __name__ == "__main__":
    main()
