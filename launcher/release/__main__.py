"""Builds and checks everything that a release publishes.

python -m launcher.release prepare VERSION   write the version everywhere, and date the changelog's section
python -m launcher.release --dry-run         rehearse: build and check the commit, and print what it would publish
python -m launcher.release [FOLDER]          build the tagged commit into FOLDER (dist/), for the release workflow
"""

import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from launcher.processes import ROOT, RunError
from launcher.release import checks, clients, records, versions
from launcher.release.archive import build_archive
from launcher.release.committed_files import Source


def build(source: Source, target: Path, version: str) -> list[Path]:
    """Build every artefact into the folder. Return their paths."""
    files = [build_archive(source, target, version), *clients.build_python(source, target)]
    files.append(clients.build_typescript(source, target))
    files.append(records.write_sbom(source, target))
    files.append(records.write_notes(source, target, version))
    return [*files, records.write_checksums(target, files)]


def rehearse() -> None:
    """Build and check the current commit in a folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="release-") as folder, Source.from_commit("HEAD") as source:
        version = versions.project_version(source.folder)
        checks.check_source(source)
        files = build(source, Path(folder), version)
        checks.check_packages(files)
        print(f"\nA release of {source.commit[:12]} would publish, as {version}:")
        for path in files:
            print(f"  {path.stat().st_size:>12,} bytes  {path.name}")
        for obstacle in checks.list_obstacles(source.folder):
            print(f"Before the release: {obstacle}")


def release(target: Path) -> None:
    """Build and check the tagged commit. Raises RunError if something has to be done first."""
    with Source.from_commit("HEAD") as source:
        version = versions.project_version(source.folder)
        obstacles = checks.list_obstacles(source.folder)
        if source.tag != f"v{version}":
            obstacles.append(f"Tag the commit: git tag -a v{version} -m {version}")
        if obstacles:
            raise RunError(" ".join(obstacles))
        target.mkdir(parents=True, exist_ok=True)
        checks.check_source(source)
        checks.check_packages(build(source, target, version))


def main(arguments: list[str]) -> int:
    match arguments:
        case ["--dry-run"]:
            rehearse()
        case ["prepare", version]:
            versions.prepare(version, datetime.now(UTC).date())
        case [] | [_] if not "".join(arguments).startswith("-"):
            release(Path(arguments[0] if arguments else ROOT / "dist"))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except RunError as error:
        sys.exit(f"release: {error}")
