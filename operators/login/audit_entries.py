"""Entries in the audit log about operators and roles, which have no services."""

from collections.abc import Callable, Iterable, Sequence

from django.contrib.auth.models import Group, Permission, User
from django.db.models import QuerySet
from django.forms import BaseModelFormSet, ModelForm
from django.http import HttpRequest

from accounts.auditing import audit
from accounts.models import StaffScope
from operators.base.forms.stale_forms import StaleFormGuard
from operators.base.history import AuditedHistory
from operators.base.mixins import ModelT
from operators.base.requests import admin_request


class AuditedOperator:
    """A member of staff in the audit log, without password, `last_login` and second factor."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.pk = user.pk

    def __str__(self) -> str:
        return self.user.get_username()

    def audited(self) -> dict[str, object]:
        return {
            "username": self.user.get_username(),
            "email": self.user.email,
            "superuser": self.user.is_superuser,
            "active": self.user.is_active,
            "roles": sorted(self.user.groups.values_list("name", flat=True)),
            "permissions": permission_names(self.user.user_permissions.all()),
            "accounts": self.accounts(),
        }

    def accounts(self) -> str | list[str]:
        """Return the accounts in their StaffScope: "all", or ids."""
        scope = StaffScope.objects.filter(user=self.user).first()
        if scope is None or scope.all_accounts:
            return "all" if scope else []
        return sorted(scope.accounts.values_list("pk", flat=True))


class AuditedRole:
    def __init__(self, group: Group) -> None:
        self.group = group
        self.pk = group.pk

    def __str__(self) -> str:
        return self.group.name

    def audited(self) -> dict[str, object]:
        return {"name": self.group.name, "permissions": permission_names(self.group.permissions.all())}


def permission_names(granted: QuerySet[Permission]) -> list[str]:
    pairs = granted.order_by("content_type__app_label", "codename").values_list("content_type__app_label", "codename")
    return [f"{app}.{codename}" for app, codename in pairs]


class AuditedAdmin(StaleFormGuard[ModelT], AuditedHistory[ModelT]):
    """A ModelAdmin that saves objects itself, and writes audit entries in the same transactions."""

    audited_as: Callable[[ModelT], audit.AuditedModel]

    def editable_state(self, obj: ModelT, fields: Iterable[str]) -> dict[str, object]:
        """Include the values of inlines and many-to-many fields."""
        return self.audited_as(obj).audited()

    def save_model(self, request: HttpRequest, obj: ModelT, form: ModelForm, change: bool) -> None:
        stored = type(obj)._base_manager.get(pk=obj.pk) if change else None
        admin_request(request).audited_before = self.audited_as(stored).audited() if stored else {}
        super().save_model(request, obj, form, change)

    def save_related(
        self, request: HttpRequest, form: ModelForm, formsets: Sequence[BaseModelFormSet], change: bool
    ) -> None:
        super().save_related(request, form, formsets, change)
        action = f"{self.kind}.updated" if change else f"{self.kind}.created"
        audit.record(action, self.audited_as(form.instance), admin_request(request).audited_before)

    def delete_model(self, request: HttpRequest, obj: ModelT) -> None:
        audited = self.audited_as(obj)
        before = audited.audited()
        super().delete_model(request, obj)
        audit.record(f"{self.kind}.deleted", audited, before, {})


def password_changed(user: User) -> None:
    """Record that the password changed, but not the password."""
    audit.record("operator.password_changed", AuditedOperator(user), {}, {"password": "changed"})
