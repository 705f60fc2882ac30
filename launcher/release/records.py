"""Records that accompany the artefacts: SBOM, release notes and checksums."""

import hashlib
import re
from pathlib import Path

from launcher.processes import run_step
from launcher.release.committed_files import Source
from launcher.release.tools import TOOLS

SBOM = "sbom.cdx.json"
NOTES = "release-notes.md"
CHECKSUMS = "SHA256SUMS"
SECTION = re.compile(r"^## \[(?P<version>[^\]]+)\].*$", re.MULTILINE)


def write_sbom(source: Source, target: Path) -> Path:
    """List the packages that requirements.txt installs, with their hashes, as CycloneDX."""
    path = target / SBOM
    project = source.folder / "pyproject.toml"
    lock = source.folder / "requirements.txt"
    options = ["--mc-type", "application", "--output-reproducible", "--spec-version", "1.6", "--output-format", "JSON"]
    command: list[str | Path] = [TOOLS, "-m", "cyclonedx_py", "requirements", "--pyproject", project]
    command += [*options, "--output-file", path, lock]
    run_step("Listing the packages", *command, env=source.environment())
    return path


def write_notes(source: Source, target: Path, version: str) -> Path:
    path = target / NOTES
    path.write_text(release_notes((source.folder / "CHANGELOG.md").read_text(), version))
    return path


def release_notes(changelog: str, version: str) -> str:
    """Return the changelog's section of a version."""
    headings = list(SECTION.finditer(changelog))
    ends = [*(heading.start() for heading in headings[1:]), len(changelog)]
    for heading, end in zip(headings, ends, strict=True):
        if heading["version"] == version:
            return changelog[heading.end() : end].strip() + "\n"
    raise ValueError(f"CHANGELOG.md has no section {version}.")


def write_checksums(target: Path, files: list[Path]) -> Path:
    """Write what `sha256sum --check` reads."""
    path = target / CHECKSUMS
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(files)]
    path.write_text("".join(lines))
    return path
