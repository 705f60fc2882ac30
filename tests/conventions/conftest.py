from tests.clock import clock  # noqa: F401 - a fixture
