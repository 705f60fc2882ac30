"""The files of a commit, in a folder of their own: a release has nothing that was never committed."""

import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from launcher.processes import ROOT, RunError


@dataclass(frozen=True)
class Source:
    """A commit's files. `moment` is its time, which every file of the release gets."""

    folder: Path
    commit: str
    moment: int
    tag: str

    @classmethod
    @contextmanager
    def from_commit(cls, revision: str) -> Iterator["Source"]:
        """Check the commit out into a temporary folder. Raises RunError outside a checkout."""
        commit = git("rev-parse", revision)
        with tempfile.TemporaryDirectory(prefix="source-") as folder:
            tar = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
            with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
                archive.extractall(folder, filter="data")
            tag = git("tag", "--points-at", commit).partition("\n")[0]
            yield cls(Path(folder), commit, int(git("log", "-1", "--format=%ct", commit)), tag)

    def environment(self, **variables: str) -> dict[str, str]:
        """Return the environment for tools that build: they take the time of their files from it."""
        return {**os.environ, "SOURCE_DATE_EPOCH": str(self.moment), "PYTHONDONTWRITEBYTECODE": "1", **variables}


def git(*arguments: str) -> str:
    process = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if process.returncode:
        raise RunError(f"git {arguments[0]} failed: {process.stderr.strip()}")
    return process.stdout.strip()
