"""`python -m tests.world FILE` runs the month and saves it, for WORLD_RECORD=FILE (conftest.py)."""

import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django

django.setup()

from tests.world.month import keep_record  # noqa: E402 - the machines need Django's settings

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        keep_record(Path(sys.argv[1]), Path(place))
