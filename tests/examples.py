"""How much is tried: with EXAMPLES=all as much as CI tries, otherwise a third of what chance makes up."""

import os

ALL = os.environ.get("EXAMPLES") == "all"


def examples(number: int) -> int:
    """Of so many examples of hypothesis, or kills at a random moment, those that this run tries."""
    return number if ALL else max(number // 3, min(number, 3))
