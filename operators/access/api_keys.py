"""API keys: create, change, rotate and revoke. Only the page that confirms a new key shows its text."""

from collections.abc import Sequence
from functools import partial

from django.contrib import admin
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html, format_html_join
from django.views.decorators.http import require_POST
from unfold.contrib.filters.admin import ChoicesDropdownFilter
from unfold.decorators import display

from accounts.keys import services
from accounts.keys import states as key_states
from accounts.keys.bounds import describe_rate_limit
from accounts.models import ApiKey, KeyType
from kit.http.errors import ApiError
from operators.access.api_key_forms import OVERLAPS, KeyForm, NewKeyForm, possible_ends, rotation_form
from operators.access.key_pages import (
    FindKey,
    SecretAdmin,
    form_seed,
    key_shown_again,
    latest_changes,
    latest_decisions,
    note_seen,
    show_once,
)
from operators.access.proxy_refusals import NO_REFUSAL, refusal_in_words, refusals_at_sites
from operators.base.fields import Values
from operators.base.filters import OptionsFilter, RelatedFilter
from operators.base.forms.confirmation import Confirmation, confirmed_action
from operators.base.lists.columns import column, time_column
from operators.base.pages import EmptyState
from operators.base.requests import admin_request

STATE_COLOURS = {"active": "success", "expired": "default", "revoked": "default"}
CHANGEABLE = ("name", "allowed_ips", "allowed_hosts", "rate_limit", "expires_at")


class StateFilter(OptionsFilter[ApiKey]):
    title = "state"
    parameter_name = "state"
    options = {state.value: state.label for state in key_states.State}

    def apply_option(self, queryset: QuerySet[ApiKey], value: str) -> QuerySet[ApiKey]:
        return queryset.filter(key_states.is_in(key_states.State(value), timezone.now()))


class AttentionFilter(OptionsFilter[ApiKey]):
    title = "attention"
    parameter_name = "attention"
    options = {
        "unused": f"not used for {key_states.UNUSED_FOR.days} days",
        "expiring": f"expires within {key_states.EXPIRES_SOON.days} days",
        "refused": "refused at the edge",
    }
    conditions = {
        "unused": key_states.is_unused,
        "expiring": key_states.expires_soon,
        "refused": key_states.is_refused,
    }

    def apply_option(self, queryset: QuerySet[ApiKey], value: str) -> QuerySet[ApiKey]:
        return queryset.filter(self.conditions[value](timezone.now()))


@admin.register(ApiKey)
class ApiKeyAdmin(FindKey, SecretAdmin[ApiKey]):
    form = KeyForm
    empty_state = EmptyState("Programs use an API key to call the service. It is shown once, when it is created.")
    list_display = ("name", "prefix", "account", "type", "state", "last_used", "expires", "badge")
    list_select_related = ("account",)
    phone_row_columns = {"state": "", "prefix": "", "last_used": "used"}
    fieldset_headings = {
        **dict.fromkeys(("permissions", "may"), "What it may do"),
        "allowed_ips": "Addresses, hosts, limit and expiry",
        "identifier": "The key",
        "created_at": "Since",
    }
    search_fields = ("name", "prefix")
    list_filter = (
        StateFilter,
        AttentionFilter,
        ("type", ChoicesDropdownFilter),
        ("account", RelatedFilter),
    )
    add_fieldsets = ((None, {"fields": ("account", "name", "type", "permissions", *CHANGEABLE[1:])}),)
    fields = (
        *CHANGEABLE, "identifier", "account", "state", "attention", "type", "prefix", "may", "created_at",
        "last_used", "refused_proxy", "changes", "decisions", "revoked_at",
    )  # fmt: skip
    words_instead = {
        "allowed_ips": "addresses",
        "allowed_hosts": "hosts",
        "rate_limit": "limit",
        "expires_at": "expires",
    }
    last_used = time_column("Last used", "last_used_at", empty="never")
    expires = time_column("Expires", "expires_at", empty="never")
    changes = column("Latest changes with it", latest_changes)
    decisions = column("Latest decisions made with it", latest_decisions)
    rights = {"changes": "accounts.view_auditentry", "decisions": "analytics.view_accessevent"}
    autocomplete_fields = ("account",)
    actions_detail = ("rotate", "revoke")

    def get_form(
        self, request: HttpRequest, obj: ApiKey | None = None, change: bool = False, **kwargs: object
    ) -> type[ModelForm]:
        return super().get_form(request, obj, change, **{"form": self.form if obj else NewKeyForm, **kwargs})

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, str | list[str]]:
        return {"type": KeyType.SECRET, **super().get_changeform_initial_data(request)}

    def has_change_permission(self, request: HttpRequest, obj: ApiKey | None = None) -> bool:
        revoked = obj is not None and obj.revoked_at is not None
        return not revoked and super().has_change_permission(request, obj)

    # --- Making ------------------------------------------------------------------------------------------------------

    def create(self, request: HttpRequest, fields: Values) -> ApiKey:
        account = fields.pop("account")
        key, admin_request(request).secret = services.create_api_key(
            account.pk, key_id=fields.pop("id"), seed=form_seed(request), **fields
        )
        return key

    def show_secret(self, request: HttpRequest, obj: ApiKey, secret: str, note: str = "") -> HttpResponse:
        seen = reverse("admin:accounts_apikey_seen", args=[obj.pk])
        return show_once(request, self, obj, secret, title=f"Your new key: {obj.name}", note=note, seen=seen)

    def made_already(self, request: HttpRequest, pk: str) -> HttpResponse:
        return key_shown_again(request, self) or super().made_already(request, pk)

    def get_urls(self) -> list[URLPattern]:
        seen = self.admin_site.admin_view(self.seen)
        return [path("<path:object_id>/seen/", seen, name="accounts_apikey_seen"), *super().get_urls()]

    @method_decorator(require_POST)
    def seen(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Record that a browser showed the page with the key's text; the page itself calls this."""
        note_seen(request, self.require_object(request, object_id))
        return HttpResponse(status=204)

    def update(self, request: HttpRequest, obj: ApiKey, fields: Values) -> ApiKey:
        return services.update_api_key(obj, fields)

    # --- Ending ------------------------------------------------------------------------------------------------------

    @confirmed_action("Rotate", "autorenew", "rotate")
    def rotate(self, request: HttpRequest, key: ApiKey) -> Confirmation | HttpResponse:
        if again := key_shown_again(request, self):
            return again
        now = timezone.now()

        def perform(fields: Values) -> HttpResponse:
            overlap = fields["overlap_seconds"]
            new_id = fields["ticket"]
            expiry: services.Expiry = {}
            if fields.get("term"):
                expiry["expires_at"] = possible_ends(key, now)[fields["term"]]
            try:
                with transaction.atomic():
                    new, text = services.rotate_api_key(
                        key, overlap_seconds=overlap, key_id=new_id, seed=form_seed(request), **expiry
                    )
            except (IntegrityError, ApiError):  # the same form was sent twice at once
                if again := key_shown_again(request, self):
                    return again
                raise
            note = f"The old key, {key.prefix}…, ends {OVERLAPS[overlap]}."
            if "access:check" in key.permissions:
                note += " If a proxy uses it, enter the new one in the proxy’s file before, and reload the proxy."
            return self.show_secret(request, new, text, note)

        return Confirmation(
            title=f"Rotate the key {key.name}?",
            facts=self.facts(key),
            effects=[
                "Creates a new key with the same name, permissions, addresses, hosts and rate limit.",
                f"The old one, {key.prefix}…, works until the end that you choose.",
            ],
            button="Make the new key",
            form=rotation_form(key, now),
            perform=perform,
        )

    @confirmed_action("Revoke", "block", "revoke", danger=True)
    def revoke(self, request: HttpRequest, key: ApiKey) -> Confirmation:
        return Confirmation(
            title=f"Revoke the key {key.name}?",
            facts=self.facts(key),
            effects=[
                f"Every request with the key {key.prefix}… is refused at once.",
                *(f"It stops: {ability[0].lower()}{ability[1:]}." for ability in key_states.abilities(key)),
                "This cannot be undone. Create a new key and replace this one.",
            ],
            button="Revoke it",
            perform=partial(services.revoke_api_key, key),
            done=f"The key {key.name} ({key.prefix}…) is revoked.",
        )

    def hidden_actions(self, key: ApiKey) -> Sequence[str]:
        """Hide all actions of a key that has ended."""
        return () if key_states.key_state(key, timezone.now()) == key_states.State.ACTIVE else self.actions_detail

    def facts(self, key: ApiKey) -> list[tuple[str, str]]:
        return [
            ("Account", str(key.account)),
            ("Key", f"{key.prefix}… ({key.type})"),
            ("Last used", self.last_used(key)),
            ("State", key_states.key_state(key, timezone.now()).label),
        ]

    # --- Showing -----------------------------------------------------------------------------------------------------

    @display(description="State", label=STATE_COLOURS)
    def state(self, key: ApiKey) -> tuple[str, str]:
        state = key_states.key_state(key, timezone.now())
        return state.value, state.label

    @display(description="Attention", label={"attention": "warning"})
    def badge(self, key: ApiKey) -> tuple[str, str] | None:
        warnings = self.attention(key)
        return ("attention", warnings) if warnings else None

    @display(description="Attention", empty_value="nothing")
    def attention(self, key: ApiKey) -> str:
        return ", ".join(key_states.key_warnings(key, timezone.now()))

    @display(description="Proxies refused with it")
    def refused_proxy(self, key: ApiKey) -> str:
        return format_html("{}{}", refusal_in_words(key), refusals_at_sites(key)) or NO_REFUSAL

    @display(description="May")
    def may(self, key: ApiKey) -> str:
        return format_html_join("", "<div>{}</div>", ((ability,) for ability in key_states.abilities(key)))

    @display(description="Allowed addresses")
    def addresses(self, key: ApiKey) -> str:
        return ", ".join(key.allowed_ips) or "any"

    @display(description="Rate limit")
    def limit(self, key: ApiKey) -> str:
        return describe_rate_limit(key.rate_limit)

    @display(description="Allowed hosts")
    def hosts(self, key: ApiKey) -> str:
        return ", ".join(key.allowed_hosts) or "any"
