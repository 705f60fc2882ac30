"""The list of content as it is filtered, as CSV: what the import reads again."""

from typing import Any

from kit.rest.export import Row
from licensing.content.serializers import ContentSerializer, MetadataField
from operators.base.exporting import ListExport


class ContentExport(ListExport):
    export_name = "content"
    export_columns = (
        "id", "externalId", "title", "type", "status", "source", "policyId", "tags",
        *(f"metadata.{name}" for name in MetadataField.KNOWN), "metadata", "created", "updated",
    )  # fmt: skip

    def export_rows(self, rows: list[Any]) -> list[Row]:
        serializer = ContentSerializer()
        return [serializer.to_representation(item) for item in rows]
