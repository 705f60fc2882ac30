"""The OpenAPI document as a file, and the middleware of both clients."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.clients.connected import client  # noqa: F401
from tests.clients.later import later_version  # noqa: F401
from tests.clients.sites import WAYS, Answer
from tests.openapi.document import document  # noqa: F401
from tests.openapi.node import needs_node


@pytest.fixture(
    params=[pytest.param(name, marks=[needs_node] if name in ("TypeScript", "Express") else []) for name in WAYS]
)
def way(request: pytest.FixtureRequest, settings: Any) -> Callable[..., Answer]:
    settings.ALLOWED_HOSTS = ["*"]
    return WAYS[request.param]
