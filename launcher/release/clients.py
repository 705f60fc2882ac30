"""The packages of the clients."""

from pathlib import Path

from launcher.processes import run_step
from launcher.release.committed_files import Source
from launcher.release.tools import TOOLS


def build_python(source: Source, target: Path) -> list[Path]:
    """Build the wheel and the source archive. The build backend is a locked package, so nothing is downloaded."""
    folder = source.folder / "clients" / "python"
    command = TOOLS, "-m", "build", "--no-isolation", "--outdir", target, folder
    run_step("Building the Python client", *command, env=source.environment())
    return sorted([*target.glob("content_access_licensing-*.whl"), *target.glob("content_access_licensing-*.tar.gz")])


def build_typescript(source: Source, target: Path) -> Path:
    """Build the package with the compiler of its lock, as `npm pack` does."""
    command = "node", source.folder / "clients" / "typescript" / "pack.mjs"
    printed = run_step("Building the TypeScript client", *command, piped=True, env=source.environment(), folder=target)
    return target / printed.strip()
