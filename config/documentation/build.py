"""Build the documentation site: docs/*.md and zensical.toml in, HTML with a search index out.

Zensical is needed here only. Pages may link to files elsewhere in the repository, such as SECURITY.md: those become
pages or downloads under `files/`, because a reader of the site has no repository.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from base64 import b64encode
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import orjson
from django.conf import settings
from whitenoise.compress import main as compress

DOCS = "docs"
CONFIGURATION = "zensical.toml"
ELSEWHERE = "files"  # where the site has files from outside docs/
LINK = re.compile(r"(?<=\]\()(?P<path>[^)#:\s]+)(?P<rest>(?:#[^)\s]*)?(?=\)))")
SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
STYLE = re.compile(r"='([^'\\]*::backdrop[^'\\]*)'")  # of the search dialog: Zensical's script adds it inline
COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # of a terminal
INSTALL = ".venv/bin/python -m pip install --require-hashes -r requirements-docs.txt"
COMMANDS = f"{INSTALL}\n.venv/bin/python manage.py build_docs"


class BuildError(Exception):
    """The build failed; the message is one sentence."""


def build(site: Path) -> int:
    """Build the site into a folder, replacing an older one. Returns the number of pages.

    Raises BuildError if Zensical is missing or a page links to nothing.
    """
    if find_spec("zensical") is None:
        raise BuildError(f"Zensical is not installed. Install it first: {INSTALL}")
    site.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=site.parent, prefix=".docs-") as folder:
        staged = Path(folder)
        collect(settings.BASE_DIR, staged)
        run_zensical(staged)
        built = staged / "site"
        pages = finish(built)
        old = staged / "old"
        if site.exists():
            site.rename(old)
        built.rename(site)
    return pages


def sources() -> list[Path]:
    """The files that a site is built from."""
    pages = [path for path in (settings.BASE_DIR / DOCS).rglob("*") if path.is_file()]
    return sorted([*pages, *map(Path, linked_files(settings.BASE_DIR)), settings.BASE_DIR / CONFIGURATION])


def digest() -> str:
    """Return a digest of the sources. A different digest means that the site is out of date."""
    hashed = sha256()
    for path in sources():
        hashed.update(str(path.relative_to(settings.BASE_DIR)).encode() + b"\0" + path.read_bytes() + b"\0")
    return hashed.hexdigest()


def linked_files(root: Path) -> dict[Path, str]:
    """Files outside docs/ that its pages link to, directly or through one another, with their paths in the site."""
    files: dict[Path, str] = {}
    remaining = sorted((root / DOCS).rglob("*.md"))
    while remaining:
        page = remaining.pop()
        for match in LINK.finditer(page.read_text()):
            target = Path(os.path.normpath(page.parent / match["path"]))
            if target in files or target.is_relative_to(root / DOCS) or not target.is_file():
                continue
            files[target] = f"{ELSEWHERE}/{target.relative_to(root)}"
            if target.suffix == ".md":
                remaining.append(target)
    return files


def collect(root: Path, staged: Path) -> None:
    """Copy all sources into one folder that Zensical reads, with links that hold there."""
    targets = {path: str(path.relative_to(root / DOCS)) for path in (root / DOCS).rglob("*") if path.is_file()}
    targets |= linked_files(root)
    shutil.copy(root / CONFIGURATION, staged)
    for path, target in targets.items():
        copy = staged / DOCS / target
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix != ".md":
            shutil.copy(path, copy)
            continue

        def moved(match: re.Match[str], path: Path = path, target: str = target) -> str:
            linked = targets.get(Path(os.path.normpath(path.parent / match["path"])))
            if linked is None:
                return match["path"] + match["rest"]
            return os.path.relpath(linked, os.path.dirname(target)) + match["rest"]

        copy.write_text(LINK.sub(moved, path.read_text()))


def run_zensical(staged: Path) -> None:
    """Raises BuildError with its warnings: links to pages or headings that do not exist."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(staged / CONFIGURATION)]
    process = subprocess.run(  # noqa: S603 - no input of anybody's
        command, cwd=staged, capture_output=True, text=True, check=False
    )
    if process.returncode:
        warnings = COLOUR.sub("", process.stdout + process.stderr).partition("Traceback")[0]
        raise BuildError(f"Zensical stopped:\n{warnings}")


def finish(site: Path) -> int:
    """Add what the server needs: the hashes of inline scripts and styles, and compressed copies of every file."""
    (site / "404.html").unlink()  # the service has its own
    pages = sorted(site.rglob("*.html"))
    scripts = {script for page in pages for script in SCRIPT.findall(page.read_text())}
    styles = {style for bundle in site.rglob("bundle.*.js") for style in STYLE.findall(bundle.read_text())}
    if not styles:
        raise BuildError("The style of the search dialog was not found: another version of Zensical?")
    inline = {"scripts": hash_sources(scripts), "styles": hash_sources(styles)}
    (site / "build.json").write_bytes(orjson.dumps({"sources": digest(), **inline}))
    compress(["--quiet", str(site)])
    return len(pages)


def hash_sources(texts: set[str]) -> list[str]:
    """The sources by which a Content-Security-Policy allows inline scripts or styles."""
    return sorted(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts)
