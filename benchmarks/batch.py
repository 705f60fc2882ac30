"""A batch of 50 checks, against Cerbos' own batch of 50 resources. Counted are decisions, not requests.

python -m benchmarks.batch [--cerbos PATH]
"""

import json

from benchmarks.cerbos import binary, cerbos_side
from benchmarks.harness import expect, workplace
from benchmarks.load import Side, measure, post_script
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, LICENSED, UNLICENSED, installed
from benchmarks.report import load_of, parser, publish, runs_of, table

SIZE = 50  # what Cerbos takes in one request by default
PATH = "/v1/access/check/batch"


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("--cerbos", metavar="PATH")
    options = arguments.parse_args()
    command = binary(options.cerbos)
    with workplace() as (stack, directory, services):
        assert services
        made = installed(stack, "ours", directory, services)
        items = made.items(made.policy(ALLOW_LICENSED, DENY_ALL), SIZE)
        defaults = {"permission": "commercial_use", "checks": [{"contentId": item} for item in items]}
        for requester, wanted in ((UNLICENSED, False), (LICENSED, True)):
            reply = made.post(PATH, {"requester": requester, **defaults})
            answers = [decision["allowed"] for decision in reply["data"]]
            expect(answers == [wanted] * SIZE, f"This service answers {reply}")
        body = json.dumps({"requester": LICENSED, **defaults})
        script = post_script(made.directory / "load.lua", made.headers, body)
        ours = Side("this service", f"{made.url}{PATH}", script, (made.server.pid,), services.pids, SIZE)
        peer = cerbos_side(stack, "Cerbos, file log", directory, command, items)
        tuned = cerbos_side(stack, "Cerbos, file log, GOGC=400", directory, command, items, GOGC="400")
        before = made.rows()
        sides = [ours, peer, tuned]
        measure(sides, **load_of(options))
        made.expect_all_stored(ours, before, body, items)
        publish("batch", table(sides, peer, "decision"), runs_of(sides), options)


if __name__ == "__main__":
    main()
