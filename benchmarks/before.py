"""A single check and a batch of 50, against an earlier commit, to detect slowdowns.

    python -m benchmarks.before REVISION [--python INTERPRETER]

Both sides run alternately in one process, each on its own database of the same PostgreSQL, with the installed
packages. The revision is checked out into a temporary directory. INTERPRETER, which has the packages of
requirements.txt, runs this revision in place of the current Python; with HEAD as REVISION, Pythons are compared.
"""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from benchmarks.harness import workplace
from benchmarks.ours import Installation, installed
from benchmarks.report import parser
from benchmarks.traffic import measure_checks_and_batches
from run import ROOT


def checked_out(stack: ExitStack, directory: Path, revision: str) -> Path:
    """Check out the project at that revision; it is removed when the stack closes."""
    checkout = directory / "before"
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", checkout, revision], cwd=ROOT, check=True)
    stack.callback(subprocess.run, ["git", "worktree", "remove", "--force", checkout], cwd=ROOT, check=True)
    return checkout


def main() -> None:
    arguments = parser(__doc__)
    arguments.add_argument("revision", metavar="REVISION")
    arguments.add_argument("--python", metavar="INTERPRETER", default=sys.executable)
    options = arguments.parse_args()
    with workplace() as (stack, directory, services):
        earlier = checked_out(stack, directory, options.revision)
        sides = {"now": (ROOT, options.python), options.revision: (earlier, sys.executable)}

        def install(unit: str) -> list[tuple[str, Installation]]:
            return [
                (name, installed(stack, f"{unit}_{number}", directory, services, checkout=checkout, python=python))
                for number, (name, (checkout, python)) in enumerate(sides.items())
            ]

        measure_checks_and_batches("before", options, install)


if __name__ == "__main__":
    main()
