"""The settings of the server: its connections, how long they may keep it waiting, what bodies may take."""

from config.environ import env_int

MAX_CONNECTIONS = env_int("MAX_CONNECTIONS", 4_000, 1_000_000)  # of each process
MAX_CONNECTIONS_PER_ADDRESS = env_int("MAX_CONNECTIONS_PER_ADDRESS", 256, 1_000_000)  # of each process
MAX_BODY_MEMORY_MIB = env_int("MAX_BODY_MEMORY_MIB", 64, 65_536)  # of each process, for all bodies under way

HEAD_SECONDS = env_int("HEAD_SECONDS", 10, 3_600)
BODY_SECONDS = env_int("BODY_SECONDS", 30, 3_600)
SEND_SECONDS = env_int("SEND_SECONDS", 30, 3_600)
KEEP_ALIVE_SECONDS = env_int("KEEP_ALIVE_SECONDS", 65, 3_600)
