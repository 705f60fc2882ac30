import pytest

from tests.clock import clock  # noqa: F401 - a fixture


@pytest.fixture(autouse=True)
def _loopback_is_allowed(settings):
    settings.WEBHOOKS_ALLOW_PRIVATE = True
