"""API keys: made, rotated and revoked here, never edited. A key's text is on the one page that answers its making."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.utils.html import format_html_join
from django.views.decorators.http import require_POST
from unfold.contrib.filters.admin import ChoicesDropdownFilter, DropdownFilter
from unfold.decorators import action, display
from unfold.enums import ActionVariant

from accounts import key_states, services
from accounts.models import ApiKey
from kit.http.errors import ApiError
from operators.access.api_key_forms import NewKeyForm, RotationForm, checked
from operators.access.one_time_key import key_shown_again, note_seen, seed_of, show_key
from operators.base.confirmation import confirm
from operators.base.filters import RelatedFilter
from operators.base.model_admin import ServiceAdmin
from operators.base.requests import kept

STATE_COLOURS = {"active": "success", "expired": "default", "revoked": "default"}


class StateFilter(DropdownFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(key_states.State.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        state = self.value()
        return queryset.filter(key_states.is_in(state, timezone.now())) if state in key_states.State else queryset


class AttentionFilter(DropdownFilter):
    title = "attention"
    parameter_name = "attention"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("unused", f"not used for {key_states.UNUSED_FOR.days} days"),
            ("expiring", f"expires within {key_states.EXPIRES_SOON.days} days"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        conditions = {"unused": key_states.unused, "expiring": key_states.expiring}
        condition = conditions.get(self.value() or "")
        return queryset.filter(condition(timezone.now())) if condition else queryset


@admin.register(ApiKey)
class ApiKeyAdmin(ServiceAdmin):
    list_display = ("name", "prefix", "account", "type", "state", "last_used", "expires", "badge")
    list_select_related = ("account",)
    search_fields = ("name", "prefix")
    list_filter = (
        StateFilter,
        AttentionFilter,
        ("type", ChoicesDropdownFilter),
        ("account", RelatedFilter),
    )
    add_fieldsets = ((None, {"fields": ("account", "name", "type", "permissions", "allowed_ips", "expires_at")}),)
    fields = readonly_fields = (
        "name", "account", "status", "attention", "type", "prefix", "may", "addresses",
        "created_at", "last_used", "expires", "revoked_at",
    )  # fmt: skip
    autocomplete_fields = ("account",)
    actions_detail = ("rotate", "revoke")

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> type[ModelForm]:
        return super().get_form(request, obj, change, **kwargs if obj else {"form": NewKeyForm, **kwargs})

    def get_readonly_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> Any:
        return self.readonly_fields if obj else ()

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        one_button = {"show_save_and_add_another": False, "show_save_and_continue": False}
        return super().add_view(request, form_url, {**one_button, **(extra_context or {})})

    # --- Making ------------------------------------------------------------------------------------------------------

    def create(self, request: HttpRequest, fields: dict[str, Any]) -> ApiKey:
        key, kept(request).key_text = services.create_api_key(
            fields["account"].pk, key_id=fields["id"], seed=seed_of(request), **checked(fields)
        )
        return key

    def response_add(self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None) -> HttpResponse:
        return show_key(request, self, obj, kept(request).key_text)

    def made_already(self, request: HttpRequest, pk: str) -> HttpResponse:
        return key_shown_again(request, self) or super().made_already(request, pk)

    def get_urls(self) -> list[URLPattern]:
        seen = self.admin_site.admin_view(self.seen)
        return [path("<path:object_id>/seen/", seen, name="accounts_apikey_seen"), *super().get_urls()]

    @method_decorator(require_POST)
    def seen(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Called by the page with the key's text, once it is shown."""
        note_seen(request, self.found(request, object_id))
        return HttpResponse(status=204)

    # --- Ending ------------------------------------------------------------------------------------------------------

    @action(description="Rotate", icon="autorenew", permissions=["changing"], url_path="rotate")
    def rotate(self, request: HttpRequest, object_id: str) -> HttpResponse:
        key = self.found(request, object_id)
        if again := key_shown_again(request, self):
            return again

        def perform(fields: dict[str, Any]) -> HttpResponse:
            overlap, new_id = fields["overlap_seconds"], fields["ticket"]
            try:
                with transaction.atomic():
                    new, text = services.rotate_api_key(
                        key, overlap_seconds=overlap, key_id=new_id, seed=seed_of(request)
                    )
            except (IntegrityError, ApiError):  # the same form, sent twice at the same moment
                if again := key_shown_again(request, self):
                    return again
                raise
            end = dict(RotationForm.base_fields["overlap_seconds"].choices)[overlap]  # type: ignore[attr-defined]
            return show_key(request, self, new, text, f"The old key, {key.prefix}…, ends {end}.")

        return confirm(
            request,
            self,
            obj=key,
            title=f"Rotate the key {key.name}?",
            facts=self.facts(key),
            effects=[
                "A new key is made, with the same name, permissions, addresses and expiry.",
                f"The old one, {key.prefix}…, works until the end that you choose. Then it is refused.",
                *(
                    [f"The new key too expires on {self.expires(key)} UTC, as this one does."]
                    if key.expires_at
                    else []
                ),
            ],
            button="Make the new key",
            form=RotationForm,
            perform=perform,
        )

    @action(
        description="Revoke", icon="block", permissions=["changing"], url_path="revoke", variant=ActionVariant.DANGER
    )
    def revoke(self, request: HttpRequest, object_id: str) -> HttpResponse:
        key = self.found(request, object_id)

        def perform(fields: dict[str, Any]) -> str:
            services.revoke_api_key(key)
            return f"The key {key.name} ({key.prefix}…) is revoked."

        return confirm(
            request,
            self,
            obj=key,
            title=f"Revoke the key {key.name}?",
            facts=self.facts(key),
            effects=[
                f"Every request with the key {key.prefix}… is refused from this moment on, in every process.",
                *(f"It stops: {ability[0].lower()}{ability[1:]}." for ability in key_states.abilities(key)),
                "This cannot be undone; a new key has to be made and put where this one was.",
            ],
            button="Revoke it",
            danger=True,
            perform=perform,
        )

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """None for a key that has ended."""
        key = self.get_object(request, unquote(str(object_id)))
        works = key is not None and key_states.state_of(key, timezone.now()) == key_states.State.ACTIVE
        return super().get_actions_detail(request, object_id) if works else []

    def facts(self, key: ApiKey) -> list[tuple[str, str]]:
        return [
            ("Account", str(key.account)),
            ("Key", f"{key.prefix}… ({key.type})"),
            ("Last used", self.last_used(key)),
            ("State", key_states.state_of(key, timezone.now()).label),
        ]

    # --- Showing -----------------------------------------------------------------------------------------------------

    @display(description="State", label=STATE_COLOURS)
    def state(self, key: ApiKey) -> tuple[str, str]:
        state = key_states.state_of(key, timezone.now())
        return state.value, state.label

    @display(description="State")
    def status(self, key: ApiKey) -> str:
        return key_states.state_of(key, timezone.now()).label

    @display(description="Attention", label={"attention": "warning"})
    def badge(self, key: ApiKey) -> tuple[str, str] | None:
        warnings = self.attention(key)
        return ("attention", warnings) if warnings else None

    @display(description="Attention", empty_value="nothing")
    def attention(self, key: ApiKey) -> str:
        return ", ".join(key_states.warnings_of(key, timezone.now()))

    @display(description="Last used", ordering="last_used_at", empty_value="never")
    def last_used(self, key: ApiKey) -> str:
        return f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never"

    @display(description="Expires", ordering="expires_at")
    def expires(self, key: ApiKey) -> str:
        return f"{key.expires_at:%Y-%m-%d %H:%M}" if key.expires_at else "never"

    @display(description="May")
    def may(self, key: ApiKey) -> str:
        return format_html_join("", "<div>{}</div>", ((ability,) for ability in key_states.abilities(key)))

    @display(description="Allowed addresses")
    def addresses(self, key: ApiKey) -> str:
        return ", ".join(key.allowed_ips) or "any"
