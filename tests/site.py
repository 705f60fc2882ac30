"""The documentation site, built once per test process."""

from pathlib import Path

import pytest

from config.documentation.build import build


@pytest.fixture(scope="session")
def docs_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("docs") / "site"
    build(site)
    return site
