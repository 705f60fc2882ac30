"""Webhook endpoints: create, change, ping and replay. Only the page that confirms a new secret shows it."""

from functools import partial
from urllib.parse import urlencode

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.utils.html import format_html
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from accounts.events.event_types import EXPLICIT_ONLY_TYPES, SUBSCRIBED
from accounts.events.models import Event
from accounts.webhooks import recovery, secrets, services
from accounts.webhooks.models import EndpointStatus, WebhookAttempt, WebhookEndpoint
from accounts.webhooks.recovery import Recovery
from accounts.webhooks.serializers import WebhookEndpointSerializer
from kit.values.numbers import count_text
from kit.values.timestamps import parse_timestamp, render_timestamp
from operators.access.key_pages import SecretAdmin
from operators.base.fields import LinesField, Values
from operators.base.filters import OptionsFilter, RelatedFilter
from operators.base.forms.confirmation import Confirmation, confirmed_action
from operators.base.mixins import ServiceForm
from operators.base.pages import EmptyState
from operators.base.requests import admin_request
from operators.base.times import TO_SECOND, LocalDateTimeField, shown_time, time_in_words

MAX_LATEST = 20  # attempts shown on an endpoint's page
FILTERED = {"policyIds": "the policies", "requesterIds": "the customers", "reasons": "the reasons"}
STATUS_COLOURS = {"enabled": "success", "disabled": "default", "failing": "warning"}


class ReplayForm(forms.Form):
    since = LocalDateTimeField(
        label="Start time",
        help_text=(
            "Leave it empty to send only deliveries that failed or wait for a retry. With a start time, every "
            "event since then that the endpoint did not get is sent. You see the number first."
        ),
    )


def describe_event(event: Event) -> str:
    return f"{event.type}, {time_in_words(event.created, TO_SECOND)} ({event.pk})"


def replay_effect(previewed: Recovery) -> str:
    which = "whose delivery failed or waits for a retry"
    none = "No delivery to this endpoint failed or waits for a retry."
    if previewed.since is not None:
        since = time_in_words(previewed.since)
        which = f"from {since} on that the endpoint did not get"
        none = f"The endpoint got every event from {since} on."
    if not previewed.events:
        return f"{none} Nothing is sent."
    return f"Each event {which} is sent now, with the whole retry schedule."


class WebhookForm(ServiceForm):
    serializer = WebhookEndpointSerializer

    events = LinesField(
        required=True,
        initial=["*"],
        help_text=(
            f"One on each line: * for all but {' and '.join(EXPLICIT_ONLY_TYPES)}, a group such as content.*, or a "
            f"type: {', '.join(SUBSCRIBED)}."
        ),
    )

    class Meta:
        model = WebhookEndpoint
        fields = ("account", "url", "events", "description", "status")
        labels = {"url": "URL"}
        help_texts = {"url": "https, at a public address."}


class HealthFilter(OptionsFilter[WebhookEndpoint]):
    title = "health"
    parameter_name = "health"
    options = {"failing": "failing", "given_up": "disabled by the service"}

    def apply_option(self, queryset: QuerySet[WebhookEndpoint], value: str) -> QuerySet[WebhookEndpoint]:
        field = "failing_since" if value == "failing" else "disabled_reason"
        return queryset.filter(**{f"{field}__isnull": False})


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(SecretAdmin[WebhookEndpoint]):
    form = WebhookForm
    empty_state = EmptyState("An endpoint receives events: changes and, if you choose, decisions.")
    list_display = ("url", "account", "subscriptions", "health", "failing", "created")
    list_select_related = ("account",)
    phone_row_columns = {"health": "", "subscriptions": ""}
    fieldset_headings = {"events": "Events to send", "status": "State", "latest": "Latest deliveries"}
    search_fields = ("url", "description")
    list_filter = (("status", ChoicesDropdownFilter), HealthFilter, ("account", RelatedFilter))
    add_fieldsets = ((None, {"fields": ("account", "url", "events", "description")}),)
    fields = (
        "identifier", "account", "url", "events", "description", "status", "sent_headers", "decisions", "failing",
        "latest",
    )  # fmt: skip
    autocomplete_fields = ("account",)
    actions_detail = ("ping", "replay", "rotate")

    # --- Writing -----------------------------------------------------------------------------------------------------

    def create(self, request: HttpRequest, fields: Values) -> WebhookEndpoint:
        account = fields.pop("account")
        endpoint_id = fields.pop("id")
        endpoint, admin_request(request).secret = services.create_endpoint(account.pk, fields, endpoint_id=endpoint_id)
        return endpoint

    def update(self, request: HttpRequest, obj: WebhookEndpoint, fields: Values) -> WebhookEndpoint:
        return services.update_endpoint(obj, fields)

    def secret_usage(self, endpoint: WebhookEndpoint) -> str:
        return "The receiver uses it to verify the signature of each delivery."

    # --- Asking it to do something -----------------------------------------------------------------------------------

    @confirmed_action("Ping", "notifications_active", "ping")
    def ping(self, request: HttpRequest, endpoint: WebhookEndpoint) -> Confirmation:
        return Confirmation(
            title=f"Ping {endpoint}?",
            effects=["An event of type ping is sent to it, once."],
            button="Ping it",
            perform=partial(services.ping, endpoint),
            done="The ping was sent. Its result appears below in a moment.",
        )

    @confirmed_action("Replay what failed", "replay", "replay")
    def replay(self, request: HttpRequest, endpoint: WebhookEndpoint) -> Confirmation:
        """Ask again for each chosen start time, so that no events are sent without showing their number."""
        try:
            shown_since = parse_timestamp(request.GET["since"])
        except (KeyError, ValueError):
            shown_since = None
        facts: list[tuple[str, str]] = []
        effect = "The endpoint is disabled, so nothing can be sent to it. Enable it first."
        button = ""
        if endpoint.status == EndpointStatus.ENABLED:
            previewed = recovery.preview(endpoint, shown_since)
            effect = replay_effect(previewed)
            button = "Count again"
            if previewed.first is not None and previewed.last is not None:
                button = f"Send {count_text(previewed.events, 'event')}"
                facts = [
                    ("Number of events", f"{previewed.events:,}"),
                    ("First event", describe_event(previewed.first)),
                    ("Last event", describe_event(previewed.last)),
                ]

        def perform(fields: Values) -> str | HttpResponse:
            since = fields["since"]
            if since != shown_since:
                return redirect(f"{request.path}?{urlencode({'since': render_timestamp(since) or ''})}")
            count = recovery.recover(endpoint, since).events
            return f"Sending {count_text(count, 'event')} again."

        return Confirmation(
            title=f"Send {endpoint} the missed events?",
            facts=facts,
            effects=[effect],
            button=button,
            form=ReplayForm,
            initial={"since": shown_since},
            perform=perform,
        )

    @confirmed_action("Rotate the secret", "autorenew", "rotate")
    def rotate(self, request: HttpRequest, endpoint: WebhookEndpoint) -> Confirmation:
        note = "For 24 hours the former secret also signs."
        overlap = "For 24 hours each delivery is signed with both."
        if not secrets.is_readable(endpoint.secrets):
            note = "The former secret no longer signs."
            overlap = "The former secret cannot be read because API_KEY_PEPPER has changed, so only the new one signs."

        def perform() -> HttpResponse:
            changed, secret = services.rotate_secret(endpoint)
            return self.show_secret(request, changed, secret, note)

        return Confirmation(
            title=f"Rotate the secret of {endpoint}?",
            effects=["Creates a new secret, which is shown once.", overlap],
            button="Create the new secret",
            perform=perform,
        )

    # --- Showing -----------------------------------------------------------------------------------------------------

    @display(description="Hears of")
    def subscriptions(self, endpoint: WebhookEndpoint) -> str:
        return ", ".join(endpoint.events)

    @display(description="Status", label=STATUS_COLOURS)
    def health(self, endpoint: WebhookEndpoint) -> tuple[str, str]:
        if endpoint.status == EndpointStatus.ENABLED and endpoint.failing_since is not None:
            return "failing", "failing"
        return str(endpoint.status), endpoint.get_status_display()

    @display(description="Header names", empty_value="none")
    def sent_headers(self, endpoint: WebhookEndpoint) -> str:
        """Name the headers, which only the API can set."""
        names = ", ".join(endpoint.header_names)
        if secrets.is_readable(endpoint.headers):
            return names
        return f"{names}: cannot be read because API_KEY_PEPPER has changed. Set `headers` again through the API."

    @display(description="Decisions to send")
    def decisions(self, endpoint: WebhookEndpoint) -> str:
        """Describe the filter, which only the API can set."""
        event_types = ", ".join(name for name in EXPLICIT_ONLY_TYPES if endpoint.subscribes_to(name))
        if not event_types:
            return "none: access.denied and access.allowed have to be named above"
        if not endpoint.access_filter:
            return event_types
        only = [f"{FILTERED[name]} {', '.join(values)}" for name, values in endpoint.access_filter.items()]
        return f"{event_types} only of {' and '.join(only)}"

    @display(description="Failing", empty_value="no")
    def failing(self, endpoint: WebhookEndpoint) -> str | None:
        if endpoint.disabled_reason:
            return f"Disabled by the service: {endpoint.disabled_reason}"
        since = endpoint.failing_since
        return format_html("every delivery since {}", shown_time(since)) if since else None

    @display(description="")
    def latest(self, endpoint: WebhookEndpoint) -> str:
        attempts = WebhookAttempt.objects.filter(endpoint=endpoint).select_related("event")
        newest = attempts.defer("event__data", "event__previous").order_by("-created", "-id")[:MAX_LATEST]
        return render_to_string("operators/access/webhook_attempts.html", {"attempts": newest})
