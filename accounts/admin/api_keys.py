from django.contrib import admin

from accounts.models import ApiKey
from accounts.operators.base import ScopedAdmin


@admin.register(ApiKey)
class ApiKeyAdmin(ScopedAdmin):
    list_display = ("name", "prefix", "account", "type", "created_at", "last_used_at", "expires_at", "revoked_at")
    list_select_related = ("account",)
    search_fields = ("name", "prefix")
    list_filter = ("type",)
    exclude = ("digest",)
