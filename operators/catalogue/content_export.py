"""Export of the filtered content list as CSV, in a form that the import accepts."""

from licensing.content.models import Content
from licensing.content.serializers import ContentSerializer, MetadataField
from operators.base.exporting import ListExport


class ContentExport(ListExport[Content]):
    export_name = "content"
    export_serializer = ContentSerializer
    export_columns = (
        "id", "externalId", "title", "type", "status", "source", "policyId", "tags",
        *(f"metadata.{name}" for name in MetadataField.KNOWN), "metadata", "created", "updated",
    )  # fmt: skip
