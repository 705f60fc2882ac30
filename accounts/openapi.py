"""Authentication and webhooks in the OpenAPI document."""

import re
from typing import Any

from django.http import HttpRequest
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema

from accounts.events.event_types import LATER, TYPES, EventType
from accounts.events.recording import objects


class BearerAuthentication(OpenApiAuthenticationExtension):
    target_class = "accounts.keys.authentication.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An API key: svc_sk_… or svc_pk_…"}


def build_example(event_type: EventType) -> dict[str, object]:
    example: dict[str, object] = {
        "id": "evt_01kd9x1q4r6t8v0x2z4b6d8f0h",
        "object": "event",
        "type": event_type.name,
        "created": LATER,
        "data": {**objects[event_type.object].example, **event_type.now},
    }
    previous = {} if event_type.previous is None else {"previous": dict(event_type.previous)}
    return {**example, **previous, "timestamp": example["created"]}


def add_webhooks(
    result: dict[str, Any], generator: SchemaGenerator, request: HttpRequest | None, public: bool
) -> dict[str, Any]:
    """Add the webhook requests to the document."""
    schemas = result["components"]["schemas"]
    event = schemas["Event"]
    schemas["SentEvent"] = {
        **event,
        "description": "An event as endpoints get it.",
        "required": [*event["required"], "timestamp"],
        "properties": {
            **event["properties"],
            "timestamp": {"type": "string", "format": "date-time", "description": "The same as `created`."},
        },
    }
    result["webhooks"] = {
        event_type.name: {
            "post": {
                "operationId": f"on{''.join(map(str.title, re.split('[._]', event_type.name)))}",
                "summary": event_type.description,
                "tags": ["webhooks"],
                "security": [],  # deliveries are signed instead
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {"$ref": "#/components/schemas/SentEvent"},
                            "example": build_example(event_type),
                        }
                    },
                },
                "responses": {"2XX": {"description": "Received. Anything else is tried again."}},
            }
        }
        for event_type in TYPES
    }
    return result
