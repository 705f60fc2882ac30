"""The version. `version` in pyproject.toml is the one place; the clients' packages repeat it, as their formats ask."""

import json
import re
import tomllib
from datetime import date
from pathlib import Path

from launcher.processes import ROOT, RunError

VERSION = re.compile(r"\d+\.\d+\.\d+")
PROJECTS = ("pyproject.toml", "clients/python/pyproject.toml")
PACKAGES = ("clients/typescript/package.json", "clients/typescript/package-lock.json")
PLUGIN = "clients/wordpress/content-access-licensing.php"
PLUGIN_VERSION = r"^ \* Version: (\S+)$"


def project_version(folder: Path) -> str:
    return str(tomllib.loads((folder / "pyproject.toml").read_text())["project"]["version"])


def client_versions(folder: Path) -> dict[str, str]:
    """Return the version that each client's file has."""
    versions = {name: tomllib.loads((folder / name).read_text())["project"]["version"] for name in PROJECTS[1:]}
    versions[PLUGIN] = " ".join(re.findall(PLUGIN_VERSION, (folder / PLUGIN).read_text(), re.MULTILINE))
    return versions | {name: json.loads((folder / name).read_text())["version"] for name in PACKAGES}


def prepare(version: str, today: date, root: Path = ROOT) -> None:
    """Write the version into every file that has it, and name and date the changelog's section."""
    if not VERSION.fullmatch(version):
        raise RunError(f"{version} is no version such as 0.3.0.")
    for name in PROJECTS:
        substitute(root / name, r'^version = "[^"]+"', f'version = "{version}"', 1)
    substitute(root / PLUGIN, PLUGIN_VERSION, f" * Version: {version}", 1)
    substitute(root / PACKAGES[0], r'"version": "[^"]+"', f'"version": "{version}"', 1)
    # The lock names the package itself twice, before all others.
    substitute(root / PACKAGES[1], r'"version": "[^"]+"', f'"version": "{version}"', 2)
    substitute(root / "CHANGELOG.md", r"^## \[Unreleased\]$", f"## [{version}] - {today}", 1)


def substitute(path: Path, pattern: str, text: str, times: int) -> None:
    content, number = re.subn(pattern, text, path.read_text(), count=times, flags=re.MULTILINE)
    if number != times:
        raise RunError(f"{path.name} does not have what {pattern} describes.")
    path.write_text(content)
