"""The settings of the server: its connections, how long they may keep it waiting, what bodies, threads and statements
may take."""

from kit.environ import env_int

MAX_CONNECTIONS = env_int("MAX_CONNECTIONS", 4_000, 1_000_000)  # of each process
MAX_CONNECTIONS_PER_ADDRESS = env_int("MAX_CONNECTIONS_PER_ADDRESS", 256, 1_000_000)  # of each process
MAX_BODY_MEMORY_MIB = env_int("MAX_BODY_MEMORY_MIB", 64, 65_536)  # of each process, for all bodies under way

HEAD_SECONDS = env_int("HEAD_SECONDS", 10, 3_600)
BODY_SECONDS = env_int("BODY_SECONDS", 30, 3_600)
SEND_SECONDS = env_int("SEND_SECONDS", 30, 3_600)
KEEP_ALIVE_SECONDS = env_int("KEEP_ALIVE_SECONDS", 65, 3_600)

THREADS = env_int("THREADS", 16, 1000)
HEAVY_THREADS = env_int("HEAVY_THREADS", max(1, THREADS // 4), 1000)  # beside THREADS
STATEMENT_SECONDS = env_int("STATEMENT_SECONDS", 10, 3600)  # for each statement of a web request
HEAVY_STATEMENT_SECONDS = env_int("HEAVY_STATEMENT_SECONDS", 30, 3600)
PAGES_PER_MINUTE = env_int("PAGES_PER_MINUTE", 120, 1_000_000)  # outside /v1, for each address; operators ten times
