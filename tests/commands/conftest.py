"""Shared fixtures of the import_content tests."""

import json
from pathlib import Path

import pytest

from accounts.models import Account
from licensing.edge.current_crawlers import current_table
from tests.commands.calling import ended
from tests.commands.importing import Import, Run


@pytest.fixture
def load(account: Account, tmp_path: Path) -> Import:
    """Write a file of that name and import it."""

    def run(name: str, data: str | bytes, *options: str) -> Run:
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        end = ended("import_content", path, "--account", account.pk, "--json", *options)
        return Run(json.loads(end.out.splitlines()[-1]), end.errors)

    return run


@pytest.fixture
def own_crawler_table(settings, tmp_path):
    """A crawler table of this test, read again before and after it."""
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    current_table.looked_at = float("-inf")
    yield
    current_table.looked_at = float("-inf")
