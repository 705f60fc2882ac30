"""Settings of the server: address, processes, connections, timeouts, memory for bodies, threads and statements."""

from kit.environ import env, env_int

HOST = env("HOST", "127.0.0.1")
PORT = env_int("PORT", 8000, 65_535)
WORKERS = env_int("WORKERS", 1, 256)

MAX_CONNECTIONS = env_int("MAX_CONNECTIONS", 4_000, 1_000_000)  # per process
MAX_CONNECTIONS_PER_ADDRESS = env_int("MAX_CONNECTIONS_PER_ADDRESS", 256, 1_000_000)  # per process

SEND_SECONDS = env_int("SEND_SECONDS", 30, 3_600)
KEEP_ALIVE_SECONDS = env_int("KEEP_ALIVE_SECONDS", 65, 3_600)

THREADS = env_int("THREADS", 16, 1000)
HEAVY_THREADS = env_int("HEAVY_THREADS", max(1, THREADS // 4), 1000)  # in addition to THREADS
# outside /v1, per address; ten times as many for operators
PAGES_PER_MINUTE = env_int("PAGES_PER_MINUTE", 120, 1_000_000)

# Constants, because no installation needs another value:
HEAD_SECONDS = 10  # any client sends a head at once
BODY_SECONDS = 30  # bodies have at most 1 MiB, imports besides
MAX_BODY_MEMORY_MIB = 64  # per process, for bodies that are being received: 64 of the largest at a time
STATEMENT_SECONDS = 10  # the slowest statement of an ordinary request takes a fraction of it
HEAVY_STATEMENT_SECONDS = 30  # files and lists are read in parts of a few seconds, however long they are
