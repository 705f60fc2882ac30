import subprocess
import sys

from tests.clients import generate
from tests.openapi.node import needs_node, run


def test_the_python_client_is_typed():
    strictly = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--config-file", "/dev/null"]
    done = subprocess.run([*strictly, generate.PYTHON], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@needs_node
def test_the_typescript_client_is_typed():
    run("tsc", "--noEmit", "-p", generate.ROOT / "clients" / "typescript")
