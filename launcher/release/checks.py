"""Checks before a release: of its versions and changelog, and by the tools of those who receive it."""

import shutil
import sys
from pathlib import Path

from launcher.processes import run_step
from launcher.release.committed_files import Source
from launcher.release.tools import TOOLS, check_tools
from launcher.release.versions import client_versions, project_version

SCHEMAS = {
    "vendor.compose-spec": ["compose.yaml", "deploy/high-availability/compose.yaml"],
    "vendor.github-workflows": [".github/workflows/release.yml"],
}


def list_obstacles(folder: Path) -> list[str]:
    """Return what has to be done before this commit can be released."""
    version = project_version(folder)
    problems = [
        f"{name} has version {client_version}."
        for name, client_version in client_versions(folder).items()
        if client_version != version
    ]
    if "\n## [Unreleased]" in (folder / "CHANGELOG.md").read_text():
        problems.append("CHANGELOG.md has unreleased changes.")
    if problems:
        problems.append("Run `python -m launcher.release prepare VERSION`, and commit.")
    return problems


def check_source(source: Source) -> None:
    """Raises RunError if a tool is missing or a file for containers or the workflow has a fault."""
    check_tools()
    linter = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
    if linter:
        run_step("Linting the Dockerfile", linter, source.folder / "Dockerfile")
    else:
        print("SKIPPED: there is no hadolint for this machine.")
    for schema, names in SCHEMAS.items():
        files = [source.folder / name for name in names]
        run_step(
            "Checking the files for containers", TOOLS, "-m", "check_jsonschema", "--builtin-schema", schema, *files
        )


def check_packages(files: list[Path]) -> None:
    """Raises RunError if a registry would refuse a package."""
    python = [path for path in files if path.name.startswith("content_access_licensing-")]
    run_step("Checking the Python client", TOOLS, "-m", "twine", "check", "--strict", *python)
    for path in files:
        if path.suffix == ".tgz":
            run_step("Rehearsing npm publish", "npm", "publish", "--dry-run", "--access", "public", path)
