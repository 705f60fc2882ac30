"""The known metadata attributes of content, in one table: ATTRIBUTES. Fields, filters and schemas are derived from it.

Each attribute has its own column in licensing.content.models; other keys are stored in `metadata_extra`.
"""

from dataclasses import dataclass
from enum import Enum, auto

from kit.openapi.components import nullable
from kit.rest.metadata import VALUES
from kit.values.metadata import KEY_PATTERN, MAX_KEYS
from kit.values.numbers import MAX_INTEGER

MAX_TEXTS = 50


class AttributeKind(Enum):
    TEXT = auto()  # at most `maximum` characters
    DAY = auto()
    TEXTS = auto()  # at most 50 strings of 1 to `maximum` characters
    INTEGER = auto()  # 0 to `maximum`


@dataclass(frozen=True, slots=True)
class Attribute:
    name: str
    column: str
    kind: AttributeKind
    label: str
    maximum: int = 0
    description: str = ""

    @property
    def schema(self) -> dict[str, object]:
        """JSON Schema of the values that requests may send; null clears the attribute."""
        schemas: dict[AttributeKind, dict[str, object]] = {
            AttributeKind.TEXT: {"type": "string", "maxLength": self.maximum},
            AttributeKind.DAY: {"type": "string", "format": "date"},
            AttributeKind.TEXTS: {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": self.maximum, "pattern": r"\S"},
                "maxItems": MAX_TEXTS,
            },
            AttributeKind.INTEGER: {"type": "integer", "minimum": 0, "maximum": self.maximum},
        }
        described = {"description": self.description} if self.description else {}
        return {**nullable(schemas[self.kind]), **described}


ATTRIBUTES = (
    Attribute("author", "author", AttributeKind.TEXT, "Author", 255),
    Attribute("publishedAt", "published_at", AttributeKind.DAY, "Published at"),
    Attribute("category", "category", AttributeKind.TEXT, "Category", 255),
    Attribute(
        "tags",
        "metadata_tags",
        AttributeKind.TEXTS,
        "Tags in the metadata",
        100,
        "Independent of the item's own `tags`.",
    ),
    Attribute("wordCount", "word_count", AttributeKind.INTEGER, "Word count", MAX_INTEGER),
)
COLUMNS = {attribute.name: attribute.column for attribute in ATTRIBUTES}

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {attribute.name: attribute.schema for attribute in ATTRIBUTES},
    "propertyNames": {"pattern": f"^{KEY_PATTERN}$"},
    "additionalProperties": {
        "anyOf": VALUES,
    },
    "description": f"Up to {MAX_KEYS} further keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`.",
    "example": {"author": "Ada Byron", "publishedAt": "2026-01-31", "category": "finance", "wordCount": 1200},
}
