"""How much is tried at random: a third by default.

EXAMPLES=all (set by `run.py test --all`) tries everything, EXAMPLES=few (set by `run.py test --fast`) a tenth.
"""

import os

WANTED = os.environ.get("EXAMPLES")
ALL, FEW = WANTED == "all", WANTED == "few"
SHARE = 1 if ALL else 10 if FEW else 3
ON_POSTGRESQL = os.environ.get("DATABASE_URL", "").startswith("postgres")


def rounds(number: int) -> int:
    """Return the share of random kills and histories that this run tries."""
    return max(number // SHARE, min(number, 2))


def examples(number: int) -> int:
    """Return the number of hypothesis examples: on PostgreSQL at most a third, because SQLite has tried all."""
    return rounds(number // 3 if ON_POSTGRESQL and ALL else number)
