"""Linters find no error and no warning in the OpenAPI document, with the rulesets of this folder.

A document that Spectral has passed is not linted again (tests/kept.py).
"""

import json
from pathlib import Path

from tests.kept import kept, program
from tests.openapi.node import FOLDER, needs_node, run


@needs_node
def test_redocly_finds_nothing(document: Path):
    done = run("redocly", "lint", "--config", FOLDER / "redocly.yaml", "--format", "json", document)
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert [(one["ruleId"], one["message"]) for one in found["problems"]] == []


@needs_node
def test_spectral_finds_nothing(document: Path):
    def lint(_: Path) -> None:
        run("spectral", "lint", "--ruleset", FOLDER / "spectral.yaml", "--fail-severity", "hint", document)

    made_from = [document, FOLDER / "spectral.yaml", FOLDER / "package-lock.json", Path(__file__), program("node")]
    kept("spectral", made_from, lint)
