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


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the client as npm installs it."""
    folder = tmp_path_factory.mktemp("package")
    client = folder / "node_modules" / "content-access-licensing"
    source = ROOT / "clients" / "typescript"
    shutil.copytree(source, client, ignore=shutil.ignore_patterns("node_modules", "dist"))
    ran(TOOLS / "tsc", "-p", client, cwd=folder)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder
