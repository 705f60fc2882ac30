"""A batch of 50 checks, against Cerbos' own batch of 50 resources. Counted are decisions, not requests.

python -m benchmarks.batch [--cerbos PATH]
"""

import json

from benchmarks.cerbos import binary, cerbos_side
from benchmarks.harness import expect, workplace
from benchmarks.load import Side, measure, post_script
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, LICENSED, UNLICENSED, Installation, Ours, installed
from benchmarks.report import load_of, parser, publish, runs_of, table

SIZE = 50  # what Cerbos takes in one request by default
PATH = "/v1/access/check/batch"


def batch_side(name: str, made: Installation) -> Ours:
    """The installation as a side, seen to decide a batch rightly."""
    items = made.items(made.policy(ALLOW_LICENSED, DENY_ALL), SIZE)
    defaults = {"permission": "commercial_use", "checks": [{"contentId": item} for item in items]}
    for requester, wanted in ((UNLICENSED, False), (LICENSED, True)):
        reply = made.post(PATH, {"requester": requester, **defaults})
        answers = [decision["allowed"] for decision in reply["data"]]
        expect(answers == [wanted] * SIZE, f"{name} answers {reply}")
    body = json.dumps({"requester": LICENSED, **defaults})
    script = post_script(made.directory / "batch.lua", made.headers, body)
    storage = made.services.pids if made.services else ()
    side = Side(name, f"{made.url}{PATH}", script, (made.server.pid,), storage, SIZE)
    return Ours(made, items, body, side, made.rows())


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--cerbos", metavar="PATH")
    options = arguments.parse_args()
    command = binary(options.cerbos)
    with workplace() as (stack, directory, services):
        assert services
        ours = batch_side("this service", installed(stack, "ours", directory, services))
        assert ours.items
        peer = cerbos_side(stack, "Cerbos, file log", directory, command, ours.items)
        tuned = cerbos_side(stack, "Cerbos, file log, GOGC=400", directory, command, ours.items, GOGC="400")
        sides = [ours.side, peer, tuned]
        measure(sides, **load_of(options))
        ours.expect_all_stored()
        publish("batch", table(sides, peer, "decision"), runs_of(sides), options)


if __name__ == "__main__":
    main()
