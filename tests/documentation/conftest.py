"""The clients as packages that examples can import."""

import shutil
import sys
from pathlib import Path

import pytest

from run import ROOT
from tests.clients.generate import PYTHON
from tests.documentation.running import ran
from tests.openapi.node import TOOLS

sys.path.insert(0, str(PYTHON.parent))  # the client, which is not installed

NEXT = """
export class NextResponse extends Response {
  static next() {
    return new NextResponse("Page");
  }
}
"""
NEXT_TYPES = """
export class NextResponse extends Response {
  static next(options: { request: { headers: Headers }; headers: Headers }): NextResponse;
}
"""


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the client as npm installs it, and a stub of what the recipe uses of Next."""
    folder = tmp_path_factory.mktemp("package")
    client, framework = (folder / "node_modules" / name for name in ("content-access-licensing", "next"))
    source = ROOT / "clients" / "typescript"
    shutil.copytree(source, client, ignore=shutil.ignore_patterns("node_modules", "dist"))
    ran(TOOLS / "tsc", "-p", client, cwd=folder)
    framework.mkdir()
    (framework / "package.json").write_text(
        '{"name": "next", "type": "module", "exports": {"./server": "./server.js"}}'
    )
    (framework / "server.js").write_text(NEXT)
    (framework / "server.d.ts").write_text(NEXT_TYPES)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder
