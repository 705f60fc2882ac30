"""The version of this code: `version` in pyproject.toml."""

import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
VERSION: str = tomllib.loads(PROJECT.read_text())["project"]["version"]
