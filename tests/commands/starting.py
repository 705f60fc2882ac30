"""Starts of the service with environment variables."""

import os
import subprocess
import sys


def start(tmp_path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "import config.settings"],
        env={"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
