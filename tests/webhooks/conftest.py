from collections.abc import Iterator

import pytest

from tests.clock import clock  # noqa: F401 - a fixture
from tests.outbound.receivers import Receiver, receiver


@pytest.fixture(autouse=True)
def _loopback_is_allowed(settings):
    settings.WEBHOOKS_ALLOW_PRIVATE = True


@pytest.fixture
def there() -> Iterator[Receiver]:
    with receiver() as made:
        yield made
