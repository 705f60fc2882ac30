"""The OpenAPI document as a file, and clients/python as an importable package."""

import sys
from pathlib import Path

from tests.clients.later import later_version  # noqa: F401
from tests.openapi.document import document  # noqa: F401

sys.path.insert(0, str(Path(__file__).parents[2] / "clients" / "python" / "src"))
