"""Groups the problems of rejected rows, so that a hundred rows with the same one are one message."""

import re

EXAMPLES = 3  # rows of a kind that are shown
MAX_KINDS = 100
# What differs between messages of a kind.
PARTICULARS = re.compile(r"""'[^']*'|"[^"]*"|[0-9]+""")


class Problems:
    """The problems of a file by their kinds, with the first rows of each."""

    def __init__(self) -> None:
        self.examples: dict[str, list[tuple[int, str]]] = {}
        self.counts: dict[str, int] = {}

    def note(self, line: int, problem: str) -> bool:
        """Count a row's problem. Returns whether it is one of the first of its kind."""
        kind = PARTICULARS.sub("…", problem)
        if kind not in self.counts and len(self.counts) >= MAX_KINDS:
            kind = "Other problems."
        self.counts[kind] = self.counts.get(kind, 0) + 1
        examples = self.examples.setdefault(kind, [])
        if len(examples) >= EXAMPLES:
            return False
        examples.append((line, problem))
        return True

    def more(self) -> list[tuple[str, int]]:
        """Return an example of each kind that has further rows, and their number."""
        return [
            (self.examples[kind][-1][1], count - EXAMPLES) for kind, count in self.counts.items() if count > EXAMPLES
        ]
