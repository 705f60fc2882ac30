"""Clients of the licence server: create, rotate, revoke. A secret is shown once, on the confirmation page."""

from functools import partial
from typing import ClassVar

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from unfold.decorators import display

from licensing.clients import services
from licensing.clients.models import LicenseClient
from licensing.clients.serializers import LicenseClientSerializer
from operators.access.api_key_forms import overlap_field
from operators.access.key_pages import SecretAdmin, form_seed
from operators.base.fields import Values
from operators.base.filters import OptionsFilter, RelatedFilter
from operators.base.forms.confirmation import Confirmation, confirmed_action
from operators.base.mixins import ServiceForm
from operators.base.pages import EmptyState
from operators.base.requests import admin_request
from operators.base.suggesting import SuggestingAdmin, SuggestionKind
from operators.base.tickets import TicketField

STATE_COLOURS = {"active": "success", "revoked": "default"}


class ClientForm(ServiceForm):
    serializer = LicenseClientSerializer
    api_names = {"requester_own_id": "requesterId"}

    requester_own_id = forms.CharField(
        max_length=255,
        label="Customer",
        help_text="The customer's own id, as in checks. Tokens represent this customer's licences.",
    )

    class Meta:
        model = LicenseClient
        fields = ("account", "name")
        help_texts = {"name": "What it is used for."}


class OverlapForm(forms.Form):
    """`ticket` identifies the form, so that sending it twice changes the secret once."""

    ticket = TicketField(LicenseClient)
    overlap_seconds = overlap_field("The old secret ends")


class RevokedFilter(OptionsFilter[LicenseClient]):
    title = "state"
    parameter_name = "state"
    options = {"active": "active", "revoked": "revoked"}

    def apply_option(self, queryset: QuerySet[LicenseClient], value: str) -> QuerySet[LicenseClient]:
        return queryset.filter(revoked_at__isnull=value == "active")


@admin.register(LicenseClient)
class LicenseClientAdmin(SuggestingAdmin[LicenseClient], SecretAdmin[LicenseClient]):
    suggested: ClassVar = {"requester_own_id": SuggestionKind.CUSTOMER}
    form = ClientForm
    empty_state = EmptyState("A crawler uses a client to get licence tokens, which it sends to the edge.")
    list_display = ("name", "requester", "account", "prefix", "state", "last_used_at", "created")
    list_select_related = ("account", "requester")
    phone_row_columns = {"requester": "", "state": "", "last_used_at": "used"}
    fieldset_headings = {"state": "State"}
    list_filter = (RevokedFilter, ("requester", RelatedFilter), ("account", RelatedFilter))
    search_fields = ("name", "prefix")
    add_fieldsets = ((None, {"fields": ("account", "requester_own_id", "name")}),)
    fields = ("identifier", "account", "requester", "name", "state", "prefix", "former_until", "last_used_at",
              "created", "revoked_at")  # fmt: skip
    autocomplete_fields = ("account",)
    actions_detail = ("rotate", "revoke")

    def create(self, request: HttpRequest, fields: Values) -> LicenseClient:
        client, admin_request(request).secret = services.create_client(fields.pop("account").pk, fields)
        return client

    def secret_usage(self, client: LicenseClient) -> str:
        return f"It goes with the client_id {client.pk}, to /olp/token."

    @confirmed_action("Rotate the secret", "autorenew", "rotate")
    def rotate(self, request: HttpRequest, client: LicenseClient) -> Confirmation:
        def perform(fields: Values) -> HttpResponse:
            changed, secret = services.rotate_secret(client, fields["overlap_seconds"], form_seed(request))
            note = ""
            if bytes(changed.digest) == bytes(client.digest):
                note = "The form was sent twice. Nothing has changed now."
            return self.show_secret(request, changed, secret, note)

        return Confirmation(
            title=f"Rotate the secret of {client.name}?",
            facts=[("Customer", str(client.requester)), ("Secret", f"{client.prefix}…")],
            effects=["Creates a new secret, which is shown once.", "The client's tokens stay valid."],
            button="Create the new secret",
            form=OverlapForm,
            perform=perform,
        )

    @confirmed_action("Revoke", "block", "revoke", danger=True)
    def revoke(self, request: HttpRequest, client: LicenseClient) -> Confirmation:
        return Confirmation(
            title=f"Revoke {client.name}?",
            facts=[("Customer", str(client.requester)), ("Secret", f"{client.prefix}…")],
            effects=[
                "It gets no more tokens, and its existing tokens are refused at once.",
                "The customer's licences do not change.",
            ],
            button="Revoke it",
            perform=partial(services.revoke_client, client),
            done=f"The client {client.name} is revoked.",
        )

    @display(description="State", label=STATE_COLOURS)
    def state(self, client: LicenseClient) -> str:
        return "active" if client.revoked_at is None else "revoked"
