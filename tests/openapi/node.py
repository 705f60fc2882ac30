"""Node tools of the tests: `npm ci` in this folder installs them (`run.py setup` does not)."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
TOOLS = FOLDER / "node_modules" / ".bin"
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1"}

needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not TOOLS.exists(),
    reason="Node or its tools are not installed: run `npm ci --ignore-scripts` in tests/openapi.",
)


def run(name: str, *arguments: object, cwd: Path = FOLDER) -> subprocess.CompletedProcess[str]:
    """Run a tool; fail with its output if it does not succeed."""
    done = subprocess.run(
        [TOOLS / name, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | QUIET,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"{name}: {done.stdout}\n{done.stderr}"
    return done
