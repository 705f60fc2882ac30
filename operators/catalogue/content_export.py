"""The list of content as it is filtered, as CSV: what the import reads again."""

from collections.abc import Iterator
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.decorators import action

from kit.rest.export import CHUNK, Row, export
from kit.rest.heavy import heavy
from licensing.content.models import Content
from licensing.content.serializers import ContentSerializer, MetadataField
from operators.base.links import list_url
from operators.base.mixins import AdminMixin

COLUMNS = [
    "id", "externalId", "title", "type", "status", "source", "policyId", "tags",
    *(f"metadata.{name}" for name in MetadataField.KNOWN), "metadata", "created", "updated",
]  # fmt: skip


def chunks(items: QuerySet[Content]) -> Iterator[list[Row]]:
    """Newest first; each chunk begins where the one before ended."""
    serializer = ContentSerializer()
    ordered, last = items.order_by("-pk"), None
    while rows := list((ordered if last is None else ordered.filter(pk__lt=last))[:CHUNK]):
        yield [serializer.to_representation(item) for item in rows]
        last = rows[-1].pk


class ContentExport(AdminMixin):
    """A link of the list of content."""

    @heavy
    @action(description="Export", icon="download", permissions=["view"], url_path="export")
    def export_items(self, request: HttpRequest) -> Any:
        try:
            shown: Any = self.get_changelist_instance(request)
        except IncorrectLookupParameters:
            return redirect(list_url(Content))
        request_: Any = request
        return export(request_, "csv", "content", COLUMNS, chunks(shown.queryset.select_related(None)))

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The link exports what the list shows."""
        response = super().changelist_view(request, extra_context)
        filters = request.GET.urlencode()
        for link in (getattr(response, "context_data", None) or {}).get("actions_list") or ():
            if filters and link["path"].endswith("/export/"):
                link["path"] += f"?{filters}"
        return response
