"""Versions, notes, the list of packages and checksums of a release."""

import hashlib
import json
import re
import shutil
from datetime import date
from pathlib import Path

import pytest

from launcher.processes import RunError
from launcher.release import checks, records, versions
from launcher.release.committed_files import Source
from run import ROOT

CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- This.\n\n## [0.2.0] - 2026-11-01\n\n- That.\n"


def test_the_clients_have_the_version_of_the_service():
    assert set(versions.client_versions(ROOT).values()) == {versions.project_version(ROOT)}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a copy of the files that have the version."""
    for name in (*versions.PROJECTS, *versions.PACKAGES, versions.PLUGIN):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    return tmp_path


def test_a_version_is_written_everywhere_and_dated_in_the_changelog(root: Path):
    assert "CHANGELOG.md has unreleased changes." in checks.list_obstacles(root)
    versions.prepare("9.8.7", date(2026, 12, 1), root)
    assert {versions.project_version(root), *versions.client_versions(root).values()} == {"9.8.7"}
    lock = json.loads((root / versions.PACKAGES[1]).read_text())
    assert lock["packages"][""]["version"] == "9.8.7"
    assert lock["packages"]["node_modules/typescript"]["version"] != "9.8.7"
    assert checks.list_obstacles(root) == []
    assert "## [9.8.7] - 2026-12-01\n" in (root / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("version", ["next", "1.2", "v1.2.3", "1.2.3-beta"])
def test_a_version_of_another_form_is_refused(root: Path, version: str):
    with pytest.raises(RunError, match="is no version"):
        versions.prepare(version, date(2026, 12, 1), root)


def test_clients_of_another_version_stop_a_release(root: Path):
    path = root / versions.PROJECTS[1]
    path.write_text(path.read_text().replace(f'"{versions.project_version(root)}"', '"0.0.9"'))
    assert checks.list_obstacles(root)[0] == "clients/python/pyproject.toml has version 0.0.9."


def test_the_notes_are_the_section_of_the_version():
    assert records.release_notes(CHANGELOG, "0.2.0") == "- That.\n"
    assert records.release_notes(CHANGELOG, "Unreleased") == "### Added\n\n- This.\n"
    with pytest.raises(ValueError, match=r"no section 7\.0\.0"):
        records.release_notes(CHANGELOG, "7.0.0")


def test_the_checksums_are_those_of_the_files(tmp_path: Path):
    for name in ("b", "a"):
        (tmp_path / name).write_text(name)
    path = records.write_checksums(tmp_path, [tmp_path / "b", tmp_path / "a"])
    assert path.read_text().splitlines() == [f"{hashlib.sha256(name.encode()).hexdigest()}  {name}" for name in "ab"]


@pytest.mark.slow
def test_the_list_of_packages_is_what_the_lock_installs_with_its_hashes(source: Source, tmp_path: Path):
    listed = json.loads(records.write_sbom(source, tmp_path).read_text())
    lock = (source.folder / "requirements.txt").read_text()
    pinned = dict(re.findall(r"^(\S+)==([^\s;]+)", lock, re.MULTILINE))
    assert {one["name"]: one["version"] for one in listed["components"]} == pinned
    assert (listed["bomFormat"], listed["metadata"]["component"]["name"]) == (
        "CycloneDX",
        "content-access-licensing-api",
    )
    hashes = {part for one in listed["components"] for part in re.findall(r"\b[0-9a-f]{64}\b", json.dumps(one))}
    assert hashes == set(re.findall(r"--hash=sha256:([0-9a-f]{64})", lock))
    first = (tmp_path / records.SBOM).read_bytes()
    assert records.write_sbom(source, tmp_path).read_bytes() == first
