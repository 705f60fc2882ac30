import pytest

from accounts import bulk
from kit.rest.bulk import MAX_ROWS
from tests.clock import clock  # noqa: F401 - a fixture


@pytest.fixture
def in_one_part(monkeypatch):
    """Commit all rows of a bulk request together on SQLite, too."""
    monkeypatch.setattr(bulk, "PART_ROWS", MAX_ROWS)
