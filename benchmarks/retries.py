"""A check with a unique Idempotency-Key, against the same check without one.

    python -m benchmarks.retries

Both use one server alternately. Each request of either has a unique header, so that creating the load costs the same.
"""

from dataclasses import replace

from benchmarks.harness import expect, workplace
from benchmarks.load import Side, measure, retry_script
from benchmarks.ours import ALLOW_LICENSED, DENY_ALL, Installation, Ours, create_side, installed
from benchmarks.report import load_of, parser, publish, runs_of, table

HEADERS = {"with an Idempotency-Key": "Idempotency-Key", "without": "X-Benchmark"}


def expect_replay(made: Installation, side: Ours) -> None:
    """Check that a retry returns the first reply and records no decision."""
    replies = [
        made.client.post(side.side.url, content=side.body, headers={"Idempotency-Key": "benchmark"}) for _ in range(2)
    ]
    told = [reply.headers.get("Idempotent-Replayed") for reply in replies]
    expect(told == [None, "true"] and replies[0].content == replies[1].content, f"a retry is answered {replies[1]}")


def main() -> None:
    options = parser(__doc__).parse_args()
    with workplace() as (stack, directory, services):
        made = installed(stack, "ours", directory, services)
        ours = create_side(made, "", made.items(made.policy(ALLOW_LICENSED, DENY_ALL)))
        before = made.rows()
        expect_replay(made, ours)
        expect(made.rows() == before + 1, "a retry is recorded")
        sides: list[Side] = []
        for name, header in HEADERS.items():
            script = retry_script(made.directory / f"{header}.lua", made.headers, ours.body, header)
            sides.append(replace(ours.side, name=name, script=script, runs=[]))
        measure(sides, **load_of(options))
        ours.side.answered = sum(side.answered for side in sides) + 1
        ours.side.cut_off = sum(side.cut_off for side in sides)
        ours.expect_all_stored()
        publish("retries", table(sides, sides[1], "check"), runs_of(sides), options)


if __name__ == "__main__":
    main()
