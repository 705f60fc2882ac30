"""Run programs and documented examples as a user would."""

import os
import subprocess
from pathlib import Path

from tests.clients.generate import PYTHON
from tests.served import Service


def filled(text: str, service: Service) -> str:
    """Return an example with the service's address and key."""
    for address in ("http://127.0.0.1:8000", "https://licensing.example"):
        text = text.replace(address, service.url)
    return text.replace("svc_sk_…", service.key)


def ran(*command: object, cwd: Path, status: int = 0, **environment: str) -> str:
    """Return a command's output; fail with its error if it ends with another status."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**os.environ, "no_proxy": "*", "PYTHONPATH": str(PYTHON.parent), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == status, f"{done.stdout}\n{done.stderr}"
    return done.stdout
