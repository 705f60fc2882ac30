"""The OpenAPI document as a file."""

from tests.clients.connected import client  # noqa: F401
from tests.clients.later import later_version  # noqa: F401
from tests.openapi.document import document  # noqa: F401
