"""Write the OpenAPI document to a file, for tools that read one."""

import json
from pathlib import Path

import pytest

from config.pages import openapi_document


@pytest.fixture(scope="session")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("openapi") / "openapi.json"
    path.write_text(json.dumps(openapi_document()))
    return path
