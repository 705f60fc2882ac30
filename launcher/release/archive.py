"""The archive of the service: its code with the built documentation, without tests. `python3 run.py` starts it."""

import gzip
import tarfile
import tempfile
from fnmatch import fnmatch
from pathlib import Path

from launcher.processes import run_step
from launcher.release.committed_files import Source
from launcher.release.tools import TOOLS

NAME = "content-access-licensing-api"
# Beside what goes into the image: the files that start, and those that build the image.
FILES_BESIDE_IMAGE = ("run.py", "launcher", ".dockerignore", "Dockerfile", "compose.yaml", "clients/wordpress", "site")
EXCLUDED = ["launcher/release"]


def build_archive(source: Source, target: Path, version: str) -> Path:
    """Build the documentation, and pack the service's files. The same commit gives the same bytes."""
    build_documentation(source)
    path = target / f"{NAME}-{version}.tar.gz"
    # Neither the archive's name nor the present time gets into the file.
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", 9, file, mtime=source.moment) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for member in list_members(source.folder):
            name = member.relative_to(source.folder)
            archive.add(
                member, f"{NAME}-{version}/{name}", recursive=False, filter=lambda info: anonymize(info, source)
            )
    return path


def build_documentation(source: Source) -> None:
    with tempfile.TemporaryDirectory() as data:
        environment = source.environment(DATA_DIR=data, DATABASE_URL="", DOCS_SITE="")
        command = TOOLS, source.folder / "manage.py", "build_docs", "--if-changed"
        run_step("Building the documentation", *command, env=environment, folder=source.folder)


def list_members(folder: Path) -> list[Path]:
    """Return the files that the service needs, sorted: those of the image and those that start it."""
    included = [*image_paths(folder), *FILES_BESIDE_IMAGE]
    paths = [path for path in folder.rglob("*") if path.is_file()]
    names = {path: path.relative_to(folder).as_posix() for path in paths}
    return sorted(path for path, name in names.items() if is_below(name, included) and not is_below(name, EXCLUDED))


def image_paths(folder: Path) -> list[str]:
    """Return the paths that .dockerignore lets into the image."""
    lines = (folder / ".dockerignore").read_text().splitlines()
    return [line.removeprefix("!") for line in lines if line.startswith("!")]


def is_below(name: str, paths: list[str]) -> bool:
    return any(fnmatch(name, path) or name.startswith(f"{path}/") for path in paths)


def anonymize(info: tarfile.TarInfo, source: Source) -> tarfile.TarInfo:
    """Leave out who built the archive, and when."""
    info.mtime = source.moment
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mode = 0o755 if info.mode & 0o100 else 0o644
    return info
