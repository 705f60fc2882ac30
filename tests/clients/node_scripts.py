import json
from pathlib import Path

from tests.documentation.running import ran

HERE = Path(__file__).parent


def told_by(script: str, *arguments: Path | str) -> object:
    """Run a script of this folder with Node and return the JSON that it prints."""
    return json.loads(ran("node", HERE / script, *arguments, cwd=HERE))
