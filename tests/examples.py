"""The number of random examples: a third of CI's by default.

EXAMPLES=all tries as many as CI; EXAMPLES=few (set by `run.py test --fast`) a tenth.
"""

import os

WANTED = os.environ.get("EXAMPLES")
ALL, FEW = WANTED == "all", WANTED == "few"
SHARE = 1 if ALL else 10 if FEW else 3


def examples(number: int) -> int:
    """Return the share of hypothesis examples or random kills that this run tries."""
    return max(number // SHARE, min(number, 3))
