"""Real PostgreSQL and Valkey servers for tests and benchmarks, from the wheels of the dev requirements.

    with postgres() as server:
        connect(server.url)
        server.kill()   # as a crash would; server.stop("fast") and server.stop("immediate") are kinder
        server.start()  # the same data on the same port

`python -m tests.services` runs both until Ctrl-C, `python -m tests.services COMMAND …` while COMMAND runs.
"""

from tests.services.pgbouncer_server import PROGRAM as PGBOUNCER
from tests.services.pgbouncer_server import pgbouncer
from tests.services.postgres_server import Postgres, postgres, standby
from tests.services.server import UnavailableError, dies_with, eventually, free_port, unprivileged_child
from tests.services.valkey_server import Valkey, valkey
from tests.services.valkey_topologies import Cluster, Watched, valkey_cluster, valkey_sentinel

__all__ = [
    "PGBOUNCER",
    "Cluster",
    "Postgres",
    "UnavailableError",
    "Valkey",
    "Watched",
    "dies_with",
    "eventually",
    "free_port",
    "pgbouncer",
    "postgres",
    "standby",
    "unprivileged_child",
    "valkey",
    "valkey_cluster",
    "valkey_sentinel",
]
