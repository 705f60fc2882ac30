"""Content items: search, filters and forms. An item's page shows its latest decisions."""

from functools import partial
from typing import ClassVar

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.contrib.filters.admin import ChoicesDropdownFilter, TextFilter
from unfold.decorators import action, display

from analytics.models import AccessEvent
from analytics.usage.subject_usage import content_stats
from licensing.content import services as content_services
from licensing.content.metadata import COLUMNS
from licensing.content.models import Content
from licensing.content.serializers import ContentSerializer, MetadataField
from licensing.licenses.models import License
from operators.base.exporting import ListExport
from operators.base.fields import LinesField, StrictJsonField, Values
from operators.base.figures.recent import FIGURE_ACTIONS, RecentFigures, latest_decisions
from operators.base.figures.terms import covering_licenses
from operators.base.filters import ExactTextFilter, LocalDateTimeFilter, OptionsFilter, RelatedFilter
from operators.base.forms.confirmation import Confirmation, confirmed_action
from operators.base.links import list_url
from operators.base.lists.columns import time_column
from operators.base.mixins import ServiceForm
from operators.base.model_admin import ServiceAdmin
from operators.base.pages import EmptyState
from operators.base.rights import right
from operators.base.searching import find_content
from operators.catalogue.content_bulk import BulkChanges
from operators.catalogue.content_import import ContentImport

ABOUT = ("title", "external_id", "type", "source", "policy", "tags")
METADATA = (*COLUMNS.values(), "metadata_extra")


class ContentForm(ServiceForm):
    serializer = ContentSerializer
    api_names: ClassVar = {
        "policy": "policyId",
        "metadata_extra": "metadata.*",
        **{column: f"metadata.{name}" for name, column in COLUMNS.items()},
    }

    tags = LinesField(help_text="One per line. Policies and licences can refer to them.")
    metadata_tags = LinesField(label="Tags in the metadata", help_text="One per line. Separate from the item's tags.")
    metadata_extra = StrictJsonField(
        required=False,
        label="Further metadata",
        help_text="A JSON object of strings, numbers and booleans.",
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    class Meta:
        model = Content
        fields = ("account", "title", "external_id", "type", "source", "policy", "tags", "status", *COLUMNS.values(),
                  "metadata_extra")  # fmt: skip
        widgets: ClassVar = {"source": forms.TextInput(attrs={"inputmode": "url"})}

    def clean_metadata_extra(self) -> dict[str, object]:
        """Return the keys to set, with null for each that the item no longer has."""
        value: object = self.cleaned_data["metadata_extra"] or {}
        if not isinstance(value, dict):
            raise forms.ValidationError("Must be a JSON object.")
        return {**dict.fromkeys(self.instance.metadata_extra), **value}

    def clean_metadata_tags(self) -> list[str] | None:
        return self.cleaned_data["metadata_tags"] or None


class LinkedFilter(OptionsFilter[Content]):
    title = "link to a policy"
    parameter_name = "linked"
    options = {"no": "no policy", "yes": "some policy"}

    def apply_option(self, queryset: QuerySet[Content], value: str) -> QuerySet[Content]:
        is_linked = value == "yes"
        return queryset.filter(policy__isnull=not is_linked)


class TagFilter(TextFilter):
    """Items with exactly this tag."""

    title = "tag"
    parameter_name = "tag"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Content]) -> QuerySet[Content]:
        tag = (self.value() or "").strip()
        return queryset.filter(tags__has=tag) if tag else queryset


@admin.register(Content)
class ContentAdmin(RecentFigures[Content], BulkChanges, ContentImport, ListExport[Content], ServiceAdmin[Content]):
    subject_kind = "content"
    licenses_title = "Licences that cover it"
    no_licenses = "No active licence covers it."
    empty_state = EmptyState(
        "Items are what you license. Add one, or import a file.",
        "Import a file",
        "licensing_content_import_items",
        ("licensing.add_content",),
    )
    list_display = ("title", "external_id", "type", "state", "policy", "category", "account", "created_at")
    list_select_related = ("account", "policy")
    phone_row_columns = {"type": "", "state": "", "policy": ""}
    fieldset_headings = {"policy": "Who may use it"}
    list_filter = (
        ("status", ChoicesDropdownFilter),
        ("type", ChoicesDropdownFilter),
        ("policy", RelatedFilter),
        LinkedFilter,
        TagFilter,
        ("created", LocalDateTimeFilter),
        ("category", ExactTextFilter),
        ("account", RelatedFilter),
    )
    search_fields = ("title", "external_id")
    search = staticmethod(find_content)
    search_help_text = "Start of words in the title, start of the external id, or a full cnt_ id."
    sortable_by = ("title", "external_id", "type", "state", "category", "created_at")
    form = ContentForm
    add_fieldsets = ((None, {"fields": ("account", *ABOUT)}), ("Metadata", {"fields": METADATA}))
    fieldsets = (
        (None, {"fields": ("identifier", "account", "status", *ABOUT)}),
        ("Metadata", {"fields": METADATA}),
        ("Use", {"fields": ("requests", "decisions", "created_at", "updated_at")}),
    )
    created_at = time_column("Created", "created")
    updated_at = time_column("Changed", "updated")
    autocomplete_fields = ("account", "policy")
    rights = {"decisions": "analytics.view_accessevent"}
    actions_list = ("import_items", "export_items")
    export_name = "content"
    export_serializer = ContentSerializer
    export_columns = (
        "id", "externalId", "title", "type", "status", "source", "policyId", "tags",
        *(f"metadata.{name}" for name in MetadataField.KNOWN), "metadata", "created", "updated",
    )  # fmt: skip
    actions_detail = (*FIGURE_ACTIONS, "list_decisions", "delete_item")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Content]:
        return super().get_queryset(request).filter(deleted_at=None)

    def shown_licenses(self, item: Content) -> QuerySet[License]:
        return covering_licenses(item)

    def license_fields(self, item: Content) -> dict[str, str]:
        return {"content_ids": item.pk}

    def check_fields(self, item: Content) -> dict[str, str]:
        return {"item": item.pk}

    # --- Writing -----------------------------------------------------------------------------------------------------

    def create(self, request: HttpRequest, fields: Values) -> Content:
        return content_services.create_content(fields.pop("account").pk, content_services.prepare_new_item(fields))

    def update(self, request: HttpRequest, obj: Content, fields: Values) -> Content:
        return content_services.update_content(obj, fields)

    @confirmed_action("Delete", "delete", "remove", permission="deleting", danger=True)
    def delete_item(self, request: HttpRequest, item: Content) -> Confirmation:
        return Confirmation(
            title=f"Delete {item.title}?",
            facts=[
                ("Account", str(item.account)),
                ("External id", item.external_id or "none"),
                ("Asked for", self.requests(item)),
            ],
            effects=[
                "Checks of it are answered with 404. To keep it and deny access, archive it instead.",
                "Licences that name it no longer cover it.",
                "Decisions, usage figures and revenue remain. The external id can be used for another item.",
                "This cannot be undone.",
            ],
            button="Delete it",
            perform=partial(content_services.delete_content, item),
            done=f"The item {item.title} is deleted.",
            next_page="admin:licensing_content_changelist",
        )

    @action(description="Decisions", icon="rule", permissions=["decisions"], url_path="decisions")
    def list_decisions(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return redirect(list_url(AccessEvent, content__id__exact=self.require_object(request, object_id).pk))

    has_decisions_permission = right("analytics.view_accessevent")

    # --- Showing -----------------------------------------------------------------------------------------------------

    @display(description="Status", ordering="status", label={"active": "success", "archived": "default"})
    def state(self, item: Content) -> str:
        return item.status

    @display(description="Asked for")
    def requests(self, item: Content) -> str:
        stats = content_stats(item.account_id, item.pk)
        return (
            f"{stats['totalRequests']:,} times: {stats['allowedRequests']:,} allowed, "
            f"{stats['deniedRequests']:,} denied"
        )

    @display(description="Latest decisions")
    def decisions(self, item: Content) -> str:
        events = AccessEvent.objects.filter(content_id=item.pk, account_id=item.account_id)
        return latest_decisions(events.order_by("-created", "-pk").select_related("requester"), "requester")
