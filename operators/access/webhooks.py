"""Webhook endpoints: made, changed, pinged and caught up here. A secret is on the one page that answers its making."""

from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from unfold.contrib.filters.admin import ChoicesDropdownFilter, DropdownFilter
from unfold.decorators import action, display

from accounts.events.types import SUBSCRIBED
from accounts.webhooks import services
from accounts.webhooks.models import EndpointStatus, WebhookAttempt, WebhookEndpoint
from accounts.webhooks.serializers import WebhookEndpointSerializer
from operators.base.confirmation import confirm
from operators.base.fields import Lines, as_told
from operators.base.filters import RelatedFilter
from operators.base.frame import page
from operators.base.links import change_url
from operators.base.model_admin import ServiceAdmin

LATEST = 20  # attempts on an endpoint's page
STATUS_COLOURS = {"enabled": "success", "disabled": "default", "failing": "warning"}


class WebhookForm(forms.ModelForm):
    events = Lines(
        required=True,
        initial=["*"],
        help_text=f"One on each line: * for all, a group such as content.*, or a type: {', '.join(SUBSCRIBED)}.",
    )

    class Meta:
        model = WebhookEndpoint
        fields = ("account", "url", "events", "description", "status")
        labels = {"url": "URL"}
        help_texts = {"url": "https, at a public address."}

    def _post_clean(self) -> None:
        """Nothing: what the model would say, the API's own rules say."""


def checked(fields: dict[str, Any], *, partial: bool) -> dict[str, Any]:
    """A form's fields as the service takes them. Raises the serializer's ValidationError."""
    names = ("url", "events", "description", "status")
    data = {name: as_told(fields[name]) for name in names if name in fields}
    serializer = WebhookEndpointSerializer(data=data, partial=partial)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


class HealthFilter(DropdownFilter):
    title = "health"
    parameter_name = "health"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("failing", "failing"), ("given_up", "disabled by the service")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[WebhookEndpoint]) -> QuerySet[WebhookEndpoint]:
        conditions = {"failing": {"failing_since__isnull": False}, "given_up": {"disabled_reason__isnull": False}}
        return queryset.filter(**conditions.get(self.value() or "", {}))


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(ServiceAdmin):
    form = WebhookForm
    list_display = ("url", "account", "hears_of", "health", "failing", "created")
    list_select_related = ("account",)
    search_fields = ("url", "description")
    list_filter = (("status", ChoicesDropdownFilter), HealthFilter, ("account", RelatedFilter))
    add_fieldsets = ((None, {"fields": ("account", "url", "events", "description")}),)
    fieldsets = (
        (None, {"fields": ("account", "url", "events", "description", "status", "header_names", "failing")}),
        ("Latest deliveries", {"fields": ("latest",)}),
    )
    autocomplete_fields = ("account",)
    actions_detail = ("ping", "replay", "rotate")

    def get_readonly_fields(self, request: HttpRequest, obj: WebhookEndpoint | None = None) -> Any:
        return ("account", "header_names", "failing", "latest") if obj else ()

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        one_button = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, {**one_button, **(extra_context or {})})

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> type[ModelForm]:
        return super().get_form(request, obj, change, **kwargs)

    # --- Writing -----------------------------------------------------------------------------------------------------

    def create(self, request: HttpRequest, fields: dict[str, Any]) -> WebhookEndpoint:
        endpoint, request.secret = services.create_endpoint(  # type: ignore[attr-defined]
            fields["account"].pk, checked(fields, partial=False), endpoint_id=fields["id"]
        )
        return endpoint

    def update(self, request: HttpRequest, obj: WebhookEndpoint, fields: dict[str, Any]) -> WebhookEndpoint:
        return services.update_endpoint(obj, checked(fields, partial=True))

    def response_add(
        self, request: HttpRequest, obj: WebhookEndpoint, post_url_continue: str | None = None
    ) -> HttpResponse:
        return self.show_secret(request, obj, request.secret)  # type: ignore[attr-defined]

    def show_secret(
        self, request: HttpRequest, endpoint: WebhookEndpoint, secret: str, note: str = ""
    ) -> HttpResponse:
        """The one page that has the secret."""
        response = page(
            request,
            self,
            "operators/one_time_key.html",
            title=f"The secret of {endpoint}",
            original=endpoint,
            key=endpoint,
            text=secret,
            what="secret",
            usage="The receiver verifies the signature of each delivery by it.",
            note=note,
            next=change_url(endpoint),
        )
        add_never_cache_headers(response)
        response["Referrer-Policy"] = "no-referrer"
        return response

    # --- Asking it to do something -----------------------------------------------------------------------------------

    @action(description="Ping", icon="notifications_active", permissions=["changing"], url_path="ping")
    def ping(self, request: HttpRequest, object_id: str) -> HttpResponse:
        endpoint = self.found(request, object_id)

        def perform(fields: dict[str, Any]) -> str:
            services.ping(endpoint)
            self.log_change(request, endpoint, "Pinged.")
            return "The ping is on its way. What came of it is below in a moment."

        return confirm(
            request,
            self,
            obj=endpoint,
            title=f"Ping {endpoint}?",
            effects=["An event of type ping is sent to it, once."],
            button="Ping it",
            perform=perform,
        )

    @action(description="Replay what failed", icon="replay", permissions=["changing"], url_path="replay")
    def replay(self, request: HttpRequest, object_id: str) -> HttpResponse:
        endpoint = self.found(request, object_id)
        days = settings.EVENT_RETENTION_DAYS

        def perform(fields: dict[str, Any]) -> str:
            count = services.recover(endpoint, timezone.now() - timedelta(days=days))
            self.log_change(request, endpoint, f"Replayed {count} events.")
            return f"{count} events are on their way."

        return confirm(
            request,
            self,
            obj=endpoint,
            title=f"Send {endpoint} what it missed?",
            effects=[f"Every event of the last {days} days that it should have had and did not get is sent."],
            button="Send it",
            perform=perform,
        )

    @action(description="Rotate the secret", icon="autorenew", permissions=["changing"], url_path="rotate")
    def rotate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        endpoint = self.found(request, object_id)

        def perform(fields: dict[str, Any]) -> HttpResponse:
            changed, secret = services.rotate_secret(endpoint)
            self.log_change(request, endpoint, "Rotated the secret.")
            return self.show_secret(request, changed, secret, "For 24 hours the former secret signs, too.")

        return confirm(
            request,
            self,
            obj=endpoint,
            title=f"Rotate the secret of {endpoint}?",
            effects=["A new secret is made and shown once.", "For 24 hours each delivery is signed by both."],
            button="Make the new secret",
            perform=perform,
        )

    # --- Showing -----------------------------------------------------------------------------------------------------

    @display(description="Hears of")
    def hears_of(self, endpoint: WebhookEndpoint) -> str:
        return ", ".join(endpoint.events)

    @display(description="Status", label=STATUS_COLOURS)
    def health(self, endpoint: WebhookEndpoint) -> tuple[str, str]:
        failing = endpoint.status == EndpointStatus.ENABLED and endpoint.failing_since is not None
        return ("failing", "failing") if failing else (str(endpoint.status), endpoint.get_status_display())

    @display(description="Failing", empty_value="no")
    def failing(self, endpoint: WebhookEndpoint) -> str | None:
        if endpoint.disabled_reason:
            return f"Disabled by the service: {endpoint.disabled_reason}"
        since = endpoint.failing_since
        return f"every delivery since {since:%Y-%m-%d %H:%M} (UTC)" if since else None

    @display(description="")
    def latest(self, endpoint: WebhookEndpoint) -> str:
        attempts = WebhookAttempt.objects.filter(endpoint=endpoint).select_related("event")
        newest = attempts.defer("event__data", "event__previous").order_by("-created", "-id")[:LATEST]
        return render_to_string("operators/access/webhook_attempts.html", {"attempts": newest})
