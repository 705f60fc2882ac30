"""How much is tried: with EXAMPLES=all as much as CI tries, otherwise a third of what chance makes up, and with
EXAMPLES=few, as `run.py test --fast` has it, a tenth."""

import os

WANTED = os.environ.get("EXAMPLES")
ALL, FEW = WANTED == "all", WANTED == "few"
SHARE = 1 if ALL else 10 if FEW else 3


def examples(number: int) -> int:
    """Return the share of hypothesis examples or random kills that this run tries."""
    return max(number // SHARE, min(number, 3))
