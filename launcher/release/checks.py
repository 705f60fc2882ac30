"""Checks of a release by the tools of those who receive it."""

import shutil
import sys
from pathlib import Path

from launcher.processes import must
from launcher.release.source import Source
from launcher.release.tools import TOOLS, check_tools

SCHEMAS = {
    "vendor.compose-spec": ["compose.yaml", "deploy/high-availability/compose.yaml"],
    "vendor.github-workflows": [".github/workflows/release.yml"],
}


def check_source(source: Source) -> None:
    """Raises RunError if a tool is missing or a file for containers or the workflow has a fault."""
    check_tools()
    linter = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
    if linter:
        must("Linting the Dockerfile", linter, source.folder / "Dockerfile")
    else:
        print("SKIPPED: there is no hadolint for this machine.")
    for schema, names in SCHEMAS.items():
        files = [source.folder / name for name in names]
        must("Checking the files for containers", TOOLS, "-m", "check_jsonschema", "--builtin-schema", schema, *files)


def check_packages(files: list[Path]) -> None:
    """Raises RunError if a registry would refuse a package."""
    python = [path for path in files if path.name.startswith("content_access_licensing-")]
    must("Checking the Python client", TOOLS, "-m", "twine", "check", "--strict", *python)
    for path in files:
        if path.suffix == ".tgz":
            must("Rehearsing npm publish", "npm", "publish", "--dry-run", "--access", "public", path)
