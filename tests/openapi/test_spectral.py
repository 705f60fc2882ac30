"""Spectral finds no error and no warning in the OpenAPI document, with the ruleset of this folder.

It takes a minute. A document that it has passed is not linted again (tests/kept.py).
"""

from pathlib import Path

from tests.kept import kept, program
from tests.openapi.node import FOLDER, needs_node, run


@needs_node
def test_spectral_finds_nothing(document: Path):
    def lint(_: Path) -> None:
        run("spectral", "lint", "--ruleset", FOLDER / "spectral.yaml", "--fail-severity", "hint", document)

    made_from = [document, FOLDER / "spectral.yaml", FOLDER / "package-lock.json", Path(__file__), program("node")]
    kept("spectral", made_from, lint)
