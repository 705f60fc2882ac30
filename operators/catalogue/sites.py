"""Sites: which policy the pages of a host have, and whether that is carried out."""

import re
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html_join
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import action, display
from unfold.enums import ActionVariant
from unfold.widgets import UnfoldAdminTextInputWidget

from kit.http.parsing import check_values
from licensing.sites import services as site_services
from licensing.sites.models import Site
from licensing.sites.serializers import SiteSerializer
from operators.base.confirmation import confirm
from operators.base.fields import Lines
from operators.base.filters import RelatedFilter
from operators.base.model_admin import ServiceAdmin

MODE_LABELS = {"enforce": "success", "observe": "warning", "disabled": "danger"}


class RuleLines(Lines):
    """Rules as lines of a pattern and, after white space, the id of its policy."""

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, list):
            return "\n".join(f"{rule['pattern']} {rule['policyId'] or ''}".strip() for rule in value)
        return value

    def to_python(self, value: Any) -> Any:
        return [rule_of(line) for line in super().to_python(value)]


def rule_of(line: str) -> dict[str, str | None]:
    pattern, *rest = re.split(r"\s+", line, maxsplit=1)
    return {"pattern": pattern, "policyId": rest[0] if rest else None}


class SiteForm(forms.ModelForm):
    host = forms.CharField(max_length=253, widget=UnfoldAdminTextInputWidget, help_text="As in news.example.")
    rules = RuleLines(
        help_text="On each line a pattern and the id of its policy, as in “/premium/* pol_…”; without a policy its "
        "pages are unknown ones. The longest pattern that matches counts.",
    )

    class Meta:
        model = Site
        fields = ("account", "host", "mode", "unknown")
        help_texts = {
            "mode": "How far decisions are carried out: observe answers denials as allowed and records them.",
            "unknown": "What a page gets that is no registered item and that no pattern with a policy matches.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:
            self.initial["rules"] = self.instance.shown_rules

    def _post_clean(self) -> None:
        """Nothing: what the model would say, the API's own rules say."""


@admin.register(Site)
class SiteAdmin(ServiceAdmin):
    list_display = ("host", "account", "carried_out", "unknown", "number_of_rules", "changed")
    list_select_related = ("account",)
    list_filter = (("mode", ChoicesDropdownFilter), ("account", RelatedFilter))
    search_fields = ("host",)
    form = SiteForm
    add_fieldsets = ((None, {"fields": ("account", "host", "mode", "unknown", "rules")}),)
    fieldsets = ((None, {"fields": ("identifier", "account", "host", "mode", "unknown", "rules", "changed")}),)
    autocomplete_fields = ("account",)
    actions_detail = ("delete_it",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Site]:
        return super().get_queryset(request).annotate(rule_count=Count("rules"))

    def get_fieldsets(self, request: HttpRequest, obj: Site | None = None) -> Any:
        [(title, options), *others] = super().get_fieldsets(request, obj)
        if obj is None or self.has_change_permission(request, obj):
            return [(title, options), *others]
        shown = ["rules_in_words" if name == "rules" else name for name in options["fields"]]
        return [(title, {**options, "fields": shown}), *others]

    def get_readonly_fields(self, request: HttpRequest, obj: Site | None = None) -> tuple[str, ...]:
        return ("identifier", "account", "changed", "rules_in_words") if obj else ()

    def editable_state(self, obj: Site, fields: Any) -> dict[str, Any]:
        return {**super().editable_state(obj, fields), "rules": obj.shown_rules}

    def create(self, request: HttpRequest, fields: dict[str, Any]) -> Site:
        return site_services.create_site(fields["account"].pk, {**site_fields(fields), "id": fields["id"]})

    def update(self, request: HttpRequest, obj: Site, fields: dict[str, Any]) -> Site:
        return site_services.update_site(Site.objects.get(pk=obj.pk), site_fields(fields))

    @action(
        description="Delete", icon="delete", permissions=["deleting"], url_path="remove", variant=ActionVariant.DANGER
    )
    def delete_it(self, request: HttpRequest, object_id: str) -> HttpResponse:
        site = self.found(request, object_id)

        def perform(fields: dict[str, Any]) -> HttpResponse:
            site_services.delete_site(site)
            self.log_deletions(request, [site])
            self.message_user(request, f"The site {site.host} is deleted.")
            return redirect("admin:licensing_site_changelist")

        return confirm(
            request,
            self,
            obj=site,
            title=f"Delete the site {site.host}?",
            facts=[("Account", str(site.account)), ("Rules", str(len(site.shown_rules)))],
            effects=[
                "From this moment on all its pages are let through, but those of registered items.",
                "Decisions on its pages stay, and can be read.",
            ],
            button="Delete it",
            danger=True,
            perform=perform,
        )

    @display(description="Mode", ordering="mode", label=MODE_LABELS)
    def carried_out(self, site: Site) -> str:
        return site.mode

    @display(description="Rules", ordering="rule_count")
    def number_of_rules(self, site: Any) -> int:
        return int(site.rule_count)

    @display(description="Changed (UTC)")
    def changed(self, site: Site) -> str:
        return f"{site.updated:%Y-%m-%d %H:%M}"

    @display(description="Rules")
    def rules_in_words(self, site: Site) -> str:
        told = ((rule["pattern"], rule["policyId"] or "no policy") for rule in site.shown_rules)
        return format_html_join("", "<p>{}: {}</p>", told)


def site_fields(form: dict[str, Any]) -> dict[str, Any]:
    """What a service takes. Raises ApiError, and a serializer's ValidationError."""
    body = {name: form[name] for name in ("host", "mode", "unknown", "rules") if name in form}
    check_values(body, "", 0)
    fields: dict[str, Any] = SiteSerializer(partial=True).run_validation(body)
    return fields
