"""Realistic checks: thousands of different bodies, Zipf-distributed requesters, mixed outcomes.

1,000 items under three policies, 1,000 requesters (the n-th sends 1/n of the first one's requests) and four
permissions make 2,000 different questions. They come from a fixed seed, so all sides and runs answer the same ones.

`--load publisher` is a simpler catalogue: one policy of two rules, four licence types, nine in ten licences valid.
"""

import json
import random
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.harness import expect
from benchmarks.load import measure, raw_posts, script
from benchmarks.ours import ALLOW_LICENSED, CHECK, DENY_ALL, Installation, Ours
from benchmarks.report import load_of, publish, runs_of, table

ITEMS = REQUESTERS = 1_000
QUESTIONS = 2_000
BATCH = 50  # what Cerbos takes in one request by default
PERMISSIONS = ("read", "search", "commercial_use", "ai_training")
POLICIES: dict[str, list[dict[str, Any]]] = {
    "licensed": [ALLOW_LICENSED, DENY_ALL],
    "readers": [
        {
            "action": "allow",
            "priority": 1,
            "conditions": {"hasValidLicense": True},
            "permissions": ["read", "search"],
        },
        DENY_ALL,
    ],
    "tiers": [
        {"action": "deny", "priority": 1, "conditions": {"licenseType": "trial", "permission": "ai_training"}},
        {
            "action": "allow",
            "priority": 2,
            "conditions": {"licenseType": "enterprise", "hasValidLicense": True},
            "permissions": ["full_access"],
        },
        {"action": "allow", "priority": 3, "conditions": {"hasValidLicense": True}, "permissions": ["read"]},
        DENY_ALL,
    ],
}
KINDS = tuple(POLICIES)
LOADS = MIXED, PUBLISHER = "mixed", "publisher"
PUBLISHERS_TYPES = ("commercial", "enterprise", "academic", "trial")
LICENSE_TYPES = (None, None, None, "commercial", "commercial", "commercial", "commercial", "enterprise", "trial")


def zipf(count: int) -> list[float]:
    """Return cumulative weights, with which the n-th of `count` is drawn 1/n as often as the first."""
    return list(accumulate(1 / rank for rank in range(1, count + 1)))


class Question(NamedTuple):
    """A requester, a permission, and the numbers of the requested items (of 1,000)."""

    items: tuple[int, ...]
    requester: dict[str, Any]
    permission: str


def kind_of(item: int, load: str = MIXED) -> str:
    """Return the name of the item's policy."""
    return KINDS[0] if load == PUBLISHER else KINDS[item % len(KINDS)]


def requester(number: int, load: str) -> dict[str, Any]:
    who: dict[str, Any] = {"id": f"org_{number}", "name": f"Organisation {number}"}
    if load == PUBLISHER:
        license_type: str | None = PUBLISHERS_TYPES[number % len(PUBLISHERS_TYPES)]
        return {**who, "licenseType": license_type, "hasValidLicense": number % 10 != 0}
    license_type = LICENSE_TYPES[number % len(LICENSE_TYPES)]
    return who if license_type is None else {**who, "licenseType": license_type, "hasValidLicense": True}


@cache
def questions(size: int = 1, load: str = MIXED) -> list[Question]:
    """Return 2,000 questions about `size` different items each."""
    draw = random.Random(20_001 + size)
    who = draw.choices(range(REQUESTERS), cum_weights=zipf(REQUESTERS), k=QUESTIONS)
    return [
        Question(tuple(draw.sample(range(ITEMS), size)), requester(number, load), draw.choice(PERMISSIONS))
        for number in who
    ]


def is_allowed(item: int, question: Question, load: str = MIXED) -> bool:
    """Whether the policies allow it: an independent implementation to check all sides."""
    license_type, permission = question.requester.get("licenseType"), question.permission
    if not question.requester.get("hasValidLicense"):
        return False
    match kind_of(item, load):
        case "licensed":
            return license_type in ("commercial", "enterprise")
        case "readers":
            return license_type is not None and permission in ("read", "search")
        case _:
            return license_type == "enterprise" or (license_type is not None and permission == "read")


def bodies_script(path: Path, headers: Mapping[str, str], bodies: Sequence[str]) -> Path:
    """Write a wrk script that posts the bodies in turn, starting anywhere; requests are built before the run."""
    lines = ['wrk.method = "POST"', "local requests, at = {}, 0"]
    lines += ["local bodies = {", *(f"[==[{body}]==]," for body in bodies), "}"]
    lines += ["function init(args)", "  math.randomseed(os.time())", "  at = math.random(#bodies)"]
    lines += ["  for n = 1, #bodies do requests[n] = wrk.format(nil, nil, nil, bodies[n]) end", "end"]
    lines += ["function request()", "  at = at % #requests + 1", "  return requests[at]", "end"]
    return script(path, lines, headers)


def register(made: Installation, load: str = MIXED) -> list[str]:
    """Register the policies and items, and return the items' ids."""
    policies = {kind: made.policy(*rules) for kind, rules in POLICIES.items()}
    return made.many_items(policies[kind_of(n, load)] for n in range(ITEMS))


def check_bodies(ids: Sequence[str], size: int, load: str) -> Iterator[str]:
    """Return bodies of single checks, or of batches if `size` is more than one."""
    for items, who, permission in questions(size, load):
        asked = {"requester": who, "permission": permission}
        if size == 1:
            yield json.dumps({"contentId": ids[items[0]], **asked})
        else:
            yield json.dumps({**asked, "checks": [{"contentId": ids[item]} for item in items]})


def traffic_side(made: Installation, name: str, size: int = 1, sample: int = 100, load: str = MIXED) -> Ours:
    """Return the installation under this traffic (checks, or batches of `size`), after verifying a sample."""
    ids = register(made, load)
    path = CHECK if size == 1 else f"{CHECK}/batch"
    bodies = list(check_bodies(ids, size, load))
    for question, body in list(zip(questions(size, load), bodies, strict=True))[:sample]:
        reply = made.post(path, json.loads(body))
        answers = [decision["allowed"] for decision in (reply["data"] if size > 1 else [reply])]
        expect(answers == [is_allowed(item, question, load) for item in question.items], f"{name} answers {reply}")
    file = bodies_script(made.directory / f"traffic_{size}.lua", made.headers, bodies)
    posts = raw_posts(f"{made.url}{path}", made.headers, bodies)
    side = made.side(name, file, path, unit=size, posts=posts, database=made.database)
    return Ours(made, ids, bodies[0], side, made.rows())


def measure_checks_and_batches(
    name: str, options: Namespace, install: Callable[[str], Sequence[tuple[str, Installation]]]
) -> None:
    """Measure single checks, then batches of 50, and publish a table of each under `name`.

    `install` returns the named installations for a unit, "check" or "decision"; the second one is the reference.
    """
    texts, results = [], {}
    for unit in ("check", "decision"):
        size = 1 if unit == "check" else BATCH
        sides = [traffic_side(made, side_name, size) for side_name, made in install(unit)]
        timed = [side.side for side in sides]
        measure(timed, **load_of(options))
        for side in sides:
            side.expect_all_stored()
        texts.append(table(timed, timed[1], unit))
        results[unit] = runs_of(timed)
    publish(name, "\n\n".join(texts), results, options)
