"""Results of foreign tools, kept in pytest's cache until what they are made from changes."""

import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from run import ROOT

CACHE = ROOT / ".pytest_cache" / "kept"
TYPES = ROOT / ".pytest_cache" / "types"  # what mypy and tsc know of files that have not changed


def program(name: str) -> str:
    """Return the version of an installed program: its path and time."""
    found = Path(shutil.which(name) or name).resolve()
    return f"{found} {found.stat().st_mtime_ns if found.exists() else None}"


def kept(name: str, made_from: list[Path | str], make: Callable[[Path], None]) -> Path:
    """Return a directory that `make` has filled from these files and texts, in this run or an earlier one.

    If `make` fails, nothing is kept.
    """
    digest = sha256()
    for one in made_from:
        digest.update(one.read_bytes() if isinstance(one, Path) else one.encode())
        digest.update(b"\0")
    target = CACHE / f"{name}-{digest.hexdigest()[:16]}"
    if not target.exists():
        draft = CACHE / f"draft-{name}"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        make(draft)
        for old in CACHE.glob(f"{name}-*"):
            shutil.rmtree(old)
        draft.rename(target)
    return target
