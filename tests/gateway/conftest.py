"""Checks are answered on the event loop."""

import pytest

from tests.clock import clock  # noqa: F401 - a fixture
from tests.ways import EVENT_LOOP


@pytest.fixture
def way() -> str:
    return EVENT_LOOP
