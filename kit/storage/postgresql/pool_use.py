"""How many of the pool's connections are in use, as metrics. There is a pool with PostgreSQL only."""

from django.db import connection

from kit.telemetry.metrics import Gauge

STATES = ("open", "idle", "most")
connections = Gauge(
    "licensing_database_pool_connections",
    "Connections of the pools for requests and jobs: open ones, idle ones among them, and the most there may be.",
    state=STATES,
)
waiting = Gauge("licensing_database_pool_waiting", "Requests and jobs that wait for a connection of the pool.")


def note_pool_use() -> None:
    """Set the gauges of this process."""
    pool = getattr(connection, "pool", None)
    if pool is None:
        return
    stats = pool.get_stats()
    values = (stats["pool_size"], stats["pool_available"], stats["pool_max"])
    for state, value in zip(STATES, values, strict=True):
        connections.values[connections.place(state)] = value
    waiting.values[0] = stats.get("requests_waiting", 0)
