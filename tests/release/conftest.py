"""A release of this commit, built once."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from launcher.processes import RunError
from launcher.release.archive import build_archive
from launcher.release.committed_files import Source
from launcher.release.tools import PACKAGES


@pytest.fixture(scope="session")
def source() -> Iterator[Source]:
    """Return the files of the current commit, not of the working copy."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed: `python3 run.py setup --dev` does that")
    try:
        with Source.from_commit("HEAD") as files:
            yield files
    except RunError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def archive(source: Source, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the archive of the service."""
    return build_archive(source, tmp_path_factory.mktemp("release"), "1.2.3")
