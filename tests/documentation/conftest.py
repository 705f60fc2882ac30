"""The clients as packages that examples can import."""

import shutil
from pathlib import Path

import pytest

from run import ROOT
from tests.clients.connected import client  # noqa: F401
from tests.documentation.running import ran
from tests.openapi.node import TOOLS


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the client as npm installs it."""
    folder = tmp_path_factory.mktemp("package")
    installed = folder / "node_modules" / "content-access-licensing"
    source = ROOT / "clients" / "typescript"
    shutil.copytree(source, installed, ignore=shutil.ignore_patterns("node_modules", "dist"))
    ran(TOOLS / "tsc", "-p", installed, cwd=folder)
    (folder / "package.json").write_text('{"type": "module"}')
    return folder
