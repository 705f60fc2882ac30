"""Redocly finds no error and no warning in the OpenAPI document, with the rules of this folder."""

import json
from pathlib import Path

from tests.openapi.node import FOLDER, needs_node, run


@needs_node
def test_redocly_finds_nothing(document: Path):
    done = run("redocly", "lint", "--config", FOLDER / "redocly.yaml", "--format", "json", document)
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert [(one["ruleId"], one["message"]) for one in found["problems"]] == []
