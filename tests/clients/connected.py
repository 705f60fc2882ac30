"""The client of the test server's service."""

from collections.abc import Iterator

import httpx
import pytest
from content_access_licensing import Client

from tests.served import Service


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    with Client(service.key, service.url, http=httpx.Client(trust_env=False)) as made:
        yield made
