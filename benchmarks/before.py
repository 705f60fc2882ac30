"""A single check and a batch of 50, against the same of an earlier commit: nothing may get slower unnoticed.

    python -m benchmarks.before REVISION

Both sides run in one go and in turn, each on a database of its own of the same PostgreSQL, with the packages installed
here. The revision is checked out into a temporary directory.
"""

import subprocess
from contextlib import ExitStack
from pathlib import Path

from benchmarks.harness import workplace
from benchmarks.load import measure
from benchmarks.ours import Ours, installed
from benchmarks.report import load_of, parser, publish, runs_of, table
from benchmarks.traffic import BATCH, traffic_side
from run import ROOT


def checked_out(stack: ExitStack, directory: Path, revision: str) -> Path:
    """The project as it was at that revision, until the stack ends."""
    checkout = directory / "before"
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", checkout, revision], cwd=ROOT, check=True)
    stack.callback(subprocess.run, ["git", "worktree", "remove", "--force", checkout], cwd=ROOT, check=True)
    return checkout


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("revision", metavar="REVISION")
    options = arguments.parse_args()
    with workplace() as (stack, directory, services):
        code = {"now": ROOT, options.revision: checked_out(stack, directory, options.revision)}
        texts, results = [], {}
        for unit in ("check", "decision"):
            sides: list[Ours] = []
            for number, (name, checkout) in enumerate(code.items()):
                made = installed(stack, f"{unit}_{number}", directory, services, checkout=checkout)
                sides.append(traffic_side(made, name, 1 if unit == "check" else BATCH))
            timed = [side.side for side in sides]
            measure(timed, **load_of(options))
            for side in sides:
                side.expect_all_stored()
            texts.append(table(timed, timed[1], unit))
            results[unit] = runs_of(timed)
        publish("before", "\n\n".join(texts), results, options)


if __name__ == "__main__":
    main()
