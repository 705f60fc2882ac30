"""What the OpenAPI document says of authentication, and of the webhooks that are sent."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension

from accounts.events.objects import objects
from accounts.events.types import LATER, TYPES, EventType


class BearerAuthentication(OpenApiAuthenticationExtension):
    target_class = "accounts.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An API key: svc_sk_… or svc_pk_…"}


def example_of(one: EventType) -> dict[str, Any]:
    """An event of the type, as it is sent."""
    example: dict[str, Any] = {
        "id": "evt_01kd9x1q4r6t8v0x2z4b6d8f0h",
        "object": "event",
        "type": one.name,
        "created": LATER,
        "data": {**objects[one.object].example, **one.now},
    }
    previous = {} if one.previous is None else {"previous": dict(one.previous)}
    return {**example, **previous, "timestamp": example["created"]}


def add_webhooks(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Describes the requests that endpoints get: `x-webhooks`, for `webhooks` came with OpenAPI 3.1."""
    result["x-webhooks"] = {
        one.name: {
            "post": {
                "summary": one.description,
                "tags": ["webhooks"],
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {"$ref": "#/components/schemas/Event"},
                            "example": example_of(one),
                        }
                    },
                },
                "responses": {"2XX": {"description": "Received. Anything else is tried again."}},
            }
        }
        for one in TYPES
    }
    return result
