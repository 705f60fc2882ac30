"""The OpenAPI document as a file."""

from tests.openapi.document import document  # noqa: F401
