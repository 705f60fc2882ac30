import subprocess
import sys

from tests.clients import generate
from tests.kept import TYPES
from tests.openapi.node import needs_node, run


def test_the_python_client_is_typed():
    strictly = [sys.executable, "-m", "mypy", "--strict", "--config-file", "/dev/null"]
    known = ["--cache-dir", TYPES / "client"]
    done = subprocess.run([*strictly, *known, generate.PYTHON], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@needs_node
def test_the_typescript_client_is_typed():
    known = ["--incremental", "--tsBuildInfoFile", TYPES / "client.tsbuildinfo"]
    run("tsc", "--noEmit", *known, "-p", generate.ROOT / "clients" / "typescript")
