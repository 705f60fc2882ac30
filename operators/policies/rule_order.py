"""The evaluation order of a policy's rules (licensing.policies.decision.precedence) in the editor.

A rule without a priority gets one if its position requires it; a rule whose priority contradicts its position moves.
Pure functions.
"""

from collections.abc import Sequence

from licensing.policies.in_words import Rule
from licensing.policies.rules import MAX_PRIORITY

STEP = 10  # distance of priorities, leaving room for new rules


Row = dict[str, str]
Place = tuple[bool, int, bool, int]


def place(priority: int | None, action: str, index: int) -> Place:
    return priority is None, priority or 0, action != "deny", index


def in_evaluation_order(rules: Sequence[Rule]) -> list[tuple[int, Rule]]:
    """Return the rules in evaluation order, each with its index in the list."""
    return sorted(enumerate(rules), key=lambda one: place(one[1].get("priority"), one[1]["action"], one[0]))


def in_order(rows: list[Row]) -> list[Row]:
    """Sort rows by evaluation order; rows without a priority follow the row before.

    Changes priorities only if necessary. Rows with invalid priorities stay unchanged.
    """
    texts = [row["priority"].strip() for row in rows]
    if not all(text == "" or (text.isdecimal() and text.isascii() and len(text) < 8) for text in texts):
        return rows
    given = [int(text) if text else None for text in texts]
    order = by_place(rows, given, range(len(rows)))
    if order == list(range(len(rows))):
        return rows
    arranged = [index for index in order if given[index] is not None]
    for index, priority in enumerate(given):
        if priority is None:
            arranged.insert(arranged.index(index - 1) + 1 if index else 0, index)
    priorities = [given[index] for index in arranged]
    if by_place(rows, given, arranged) != arranged:
        priorities = fill_priorities(priorities)
    return [
        {**rows[index], "priority": "" if priority is None else str(priority)}
        for index, priority in zip(arranged, priorities, strict=True)
    ]


def by_place(rows: list[Row], priorities: list[int | None], indexes: Sequence[int]) -> list[int]:
    places = {index: place(priorities[index], rows[index]["action"], at) for at, index in enumerate(indexes)}
    return sorted(indexes, key=places.__getitem__)


def fill_priorities(priorities: list[int | None]) -> list[int | None]:
    """Fill in missing priorities in ascending order; renumber all if there is no room."""
    result: list[int | None] = []
    low, waiting = 0, 0
    for priority in [*priorities, None]:
        if priority is None and len(result) + waiting < len(priorities):
            waiting += 1
            continue
        high = low + STEP * (waiting + 1) if priority is None else priority
        if waiting and high - low <= waiting:
            break
        result += [low + (high - low) * (one + 1) // (waiting + 1) for one in range(waiting)]
        if priority is not None:
            result.append(priority)
            low, waiting = priority, 0
    if len(result) == len(priorities) and max(one or 0 for one in result) <= MAX_PRIORITY:
        return result
    return [STEP * (number + 1) for number in range(len(priorities))]
