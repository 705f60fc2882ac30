"""The Python that has the tools of releases: the checkout's .venv, or the one that runs this."""

import sys
from importlib.util import find_spec

from launcher.processes import RunError

TOOLS = sys.executable
PACKAGES = ("build", "check_jsonschema", "cyclonedx_py", "hatchling", "twine", "zensical")


def check_tools() -> None:
    """Raises RunError if a tool is missing."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise RunError(
            f"{', '.join(missing)} is not installed. Run `python3 run.py setup --dev`, then "
            "`.venv/bin/python -m launcher.release`."
        )
