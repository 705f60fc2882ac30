from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from accounts import services
from accounts.models import Account
from accounts.operators.base import ServiceAdmin


@admin.register(Account)
class AccountAdmin(ServiceAdmin):
    account_field = "pk"
    list_display = ("name", "plan", "created")
    list_filter = ("plan",)
    search_fields = ("name",)
    fields = ("name", "plan", "requests_per_minute", "requests_per_day")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Who sees some accounts only would not see the new one."""
        return super().has_add_permission(request) and request.user.is_superuser

    def create(self, request: HttpRequest, fields: dict[str, Any]) -> Account:
        return services.create_account(fields.pop("name"), **fields)
