"""The documentation site that the service serves under /docs/."""

import os
import sys
import tempfile
from pathlib import Path

from launcher.installing import DOCS, PYTHON, install
from launcher.processes import RunError, must


def build_docs(stamp: Path) -> None:
    """Build the site if its sources changed. Without one the service runs, and /docs/ says how to build it."""
    before = stamp.read_text()
    try:
        install(stamp, DOCS)
        with (
            tempfile.TemporaryDirectory() as data
        ):  # a set-up by root must not make files where the service keeps its own
            build = "Building the documentation", PYTHON, "manage.py", "build_docs", "--if-changed"
            must(*build, env={**os.environ, "DATA_DIR": data, "DATABASE_URL": ""})
    except RunError as error:
        stamp.write_text(before)  # the packages that it names are installed
        print(f"The pages of /docs/ were not built: {error}", file=sys.stderr)
