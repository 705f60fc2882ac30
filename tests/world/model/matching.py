"""Which recorded decision answers which question. One whose answer was lost may have been recorded or not."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from tests.world.diary import Question
from tests.world.publisher import SOURCES

Decision = Mapping[str, Any]
SLACK = 0.001  # seconds: a decision's time has microseconds, a question's some more
LATE = 10  # seconds: what a proxy has given up on may still be decided


class Matches(NamedTuple):
    """`by_id` has for each recorded decision its question; the others are what cannot be."""

    by_id: dict[str, Question]
    unasked: list[Decision]  # recorded, and nobody asked
    missing: list[Question]  # answered, and not recorded


def match(questions: Iterable[Question], decisions: Iterable[Decision], item_ids: Mapping[str, str]) -> Matches:
    named = {id_: name for name, id_ in item_ids.items()}
    by_id: dict[str, Question] = {}
    waiting: dict[Hashable, list[Question]] = defaultdict(list)
    for asked in questions:
        if asked.answer is not None and "id" in asked.answer:
            by_id[asked.answer["id"]] = asked
        elif asked.is_recorded or asked.is_lost:
            waiting[kind(asked)].append(asked)
    unasked, seen = [], set()
    for decision in sorted(decisions, key=lambda one: (one["created"], one["id"])):
        seen.add(decision["id"])
        if decision["id"] in by_id:
            continue
        asked = earliest(waiting, decision, named)
        if asked is None:
            unasked.append(decision)
        else:
            by_id[decision["id"]] = asked
    missing = [asked for id_, asked in by_id.items() if id_ not in seen]
    missing += [asked for kept in waiting.values() for asked in kept if not asked.is_lost]
    return Matches({id_: asked for id_, asked in by_id.items() if id_ in seen}, unasked, missing)


def kind(asked: Question) -> Hashable:
    """What the record of a question's decision shows."""
    allowed = None if asked.is_lost else asked.status == 200
    return asked.way == "edge", asked.requester, asked.item, asked.permission, allowed


def kinds(decision: Decision, named: Mapping[str, str]) -> Iterable[Hashable]:
    """The kinds of questions whose record this may be."""
    item = named.get(decision["contentId"])
    for is_edge in (True, False):
        # At the edge an item that was registered by its page, and is gone, counts among the site's pages.
        for name in [item] if item is not None else [None, *SOURCES]:
            for allowed in (decision["allowed"], None):
                yield is_edge, decision["requester"]["id"], name, decision["permission"], allowed


def earliest(waiting: dict[Hashable, list[Question]], decision: Decision, named: Mapping[str, str]) -> Question | None:
    """Takes, of the questions that this may be the record of, the one that ended first; lost ones last."""
    moment = datetime.fromisoformat(decision["created"]).timestamp()
    fitting = [
        (asked.is_lost, asked.ended, key, place)
        for key in kinds(decision, named)
        for place, asked in enumerate(waiting.get(key, ()))
        if asked.begun - SLACK <= moment <= asked.ended + (LATE if asked.is_lost else SLACK)
    ]
    if not fitting:
        return None
    _, _, key, place = min(fitting, key=lambda one: one[:2])
    return waiting[key].pop(place)
