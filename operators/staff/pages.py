"""Operators and roles, for superusers only, because granting permissions amounts to having all of them."""

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Case, Field, ManyToManyField, Model, Q, QuerySet, Value, When
from django.forms import Field as FormField
from django.forms import ModelForm, ModelMultipleChoiceField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.admin import ModelAdmin, StackedInline
from unfold.decorators import display
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from accounts.models import Account, StaffScope
from kit.values import ids
from operators.base.fields import CheckboxGroup
from operators.base.forms.confirmation import Confirmation, confirmed_action
from operators.base.related import RelatedInputs, without_window
from operators.base.requests import signed_in
from operators.login import second_factor
from operators.login.audit_entries import AuditedAdmin, AuditedOperator, AuditedRole, password_changed
from operators.login.session_store import end_sessions
from operators.staff.roles import used_permissions

SELF_CHANGE_ERRORS = {
    "is_active": "You cannot deactivate yourself. Ask another superuser.",
    "is_superuser": "You cannot remove your own superuser status. Ask another superuser.",
}
LAST_SUPERUSER_ERROR = "This is the last active superuser. Create another one first."


class OperatorForm(UserChangeForm):
    editor: User  # the operator who edits

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean()
        # Locks in one order, so that two superusers cannot deactivate each other at once.
        superusers = Q(is_superuser=True, is_active=True)
        locked = User.objects.select_for_update().filter(superusers | Q(pk=self.instance.pk)).order_by("pk")
        others = [user for user in locked if user.is_superuser and user.is_active and user.pk != self.instance.pk]
        for name, message in SELF_CHANGE_ERRORS.items():
            if name in self.fields and not self.cleaned_data.get(name, True) and self.initial[name]:
                if self.instance.pk == self.editor.pk:
                    self.add_error(name, forms.ValidationError(message))
                elif not others and self.initial["is_superuser"]:
                    self.add_error(name, forms.ValidationError(LAST_SUPERUSER_ERROR))
        return cleaned


# Django's own pages of them; the names "operator" and "role" are from operators.apps.
admin.site.unregister(User)
admin.site.unregister(Group)


class ForSuperusers:
    def is_superuser(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    has_view_permission = has_change_permission = has_delete_permission = is_superuser
    has_module_permission = has_add_permission = is_superuser


class AccountsField(ModelMultipleChoiceField):
    """Rejects invalid ids, which Django would pass to the database."""

    def clean(self, value: Sequence[str] | None) -> QuerySet[Account]:
        for pk in value or ():
            if ids.decode("acc", pk) is None:
                raise forms.ValidationError(self.error_messages["invalid_pk_value"], params={"pk": pk})
        return super().clean(value)


class ScopeInline(ForSuperusers, StackedInline):
    model = StaffScope
    autocomplete_fields = ("accounts",)
    verbose_name = verbose_name_plural = "accounts that they see"

    def formfield_for_manytomany(
        self, db_field: ManyToManyField, request: HttpRequest, **kwargs: object
    ) -> ModelMultipleChoiceField | None:
        kwargs |= {"form_class": AccountsField, "widget": RelatedInputs(db_field, self.admin_site)}
        return super().formfield_for_manytomany(db_field, request, **kwargs)


class PasswordForm(AdminPasswordChangeForm):
    """The form that sets another operator's password."""

    @transaction.atomic
    def save(self, commit: bool = True) -> User:
        user: User = super().save(commit)
        password_changed(user)
        return user


@admin.register(User)
class UserAdmin(ForSuperusers, AuditedAdmin[User], DjangoUserAdmin, ModelAdmin):
    audited_as = AuditedOperator
    kind = "operator"
    form = OperatorForm
    add_form = UserCreationForm
    change_password_form = PasswordForm
    inlines = (ScopeInline,)
    actions_detail = ("reset_second_factor",)
    list_display = ("username", "email", "roles", "is_superuser", "is_active", "last_login")
    list_filter = ("is_superuser", "is_active", "groups")
    list_per_page = 50
    phone_row_columns = {"roles": "", "is_active": "active:", "last_login": "last here"}
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("username", "password", "email", "is_active")}),
        ("What they may do", {"fields": ("groups", "is_superuser")}),
    )
    add_fieldsets = ((None, {"fields": ("username", "email", "password1", "password2")}),)

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        return super().get_queryset(request).prefetch_related("groups")

    def formfield_for_manytomany(
        self, db_field: ManyToManyField, request: HttpRequest, **kwargs: object
    ) -> ModelMultipleChoiceField | None:
        if db_field.name == "groups":
            kwargs |= {"widget": CheckboxGroup, "label": "Roles", "help_text": ""}
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def formfield_for_dbfield(self, db_field: Field, request: HttpRequest, **kwargs: object) -> FormField | None:
        return without_window(super().formfield_for_dbfield(db_field, request, **kwargs))

    def get_form(
        self, request: HttpRequest, obj: User | None = None, change: bool = False, **kwargs: object
    ) -> type[ModelForm]:
        form = super().get_form(request, obj, change, **kwargs)
        if issubclass(form, OperatorForm):
            form.editor = signed_in(request)
        return form

    def save_model(self, request: HttpRequest, obj: User, form: ModelForm, change: bool) -> None:
        obj.is_staff = True  # every user is an operator
        super().save_model(request, obj, form, change)
        if not obj.is_active:
            end_sessions(obj)  # otherwise they would work again if the operator is reactivated

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Disable deletion: operators who leave are deactivated, so that the audit log keeps their names."""
        return False

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """Set another operator's password. One's own is changed on the page that asks for the old one and a code."""
        if unquote(id) == str(request.user.pk):
            return redirect("admin:password_change")
        return super().user_change_password(request, id, form_url)

    @confirmed_action("Reset two-factor login", "lock_reset", "second-factor", permission="change")
    def reset_second_factor(self, request: HttpRequest, user: User) -> Confirmation | HttpResponse:
        if user == request.user:  # that page requires a code
            return redirect("admin:second_factor")
        return Confirmation(
            title=f"Reset the two-factor login of {user.username}?",
            facts=[("Two-factor login", "on" if second_factor.is_set_up(user) else "off")],
            effects=[
                "Their authenticator app and recovery codes stop working, and they are signed out everywhere.",
                f"{user.username} signs in with the password alone, until they set it up again.",
            ],
            button="Reset it",
            perform=partial(second_factor.reset, user),
            done=f"{user.username} signs in with the password alone now.",
        )

    @display(description="Roles")
    def roles(self, user: User) -> str:
        return ", ".join(group.name for group in user.groups.all()) or "–"


@admin.register(Group)
class GroupAdmin(ForSuperusers, AuditedAdmin[Group], DjangoGroupAdmin, ModelAdmin):
    audited_as = AuditedRole
    kind = "role"
    list_per_page = 50
    filter_horizontal = ()

    def formfield_for_manytomany(
        self, db_field: ManyToManyField, request: HttpRequest | None = None, **kwargs: object
    ) -> ModelMultipleChoiceField | None:
        """Offer the permissions that pages of the admin use, in words."""
        models = [model for model in self.admin_site._registry if model not in (User, Group)]
        types = ContentType.objects.get_for_models(*models)
        names = [
            When(content_type=kind, then=Value(str(model._meta.verbose_name_plural))) for model, kind in types.items()
        ]
        permissions = Permission.objects.filter(content_type__in=types.values(), codename__in=used_permissions())
        permissions = permissions.annotate(plural=Case(*names))
        return PermissionsField(
            permissions.order_by("content_type__model", "pk"),
            required=False,
            label="May",
            widget=CheckboxGroup,
        )

    def get_deleted_objects(
        self, objs: Sequence[Group] | QuerySet[Group], request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """List the operators who lose permissions, rather than rows between roles and permissions."""
        _, _, missing, protected = super().get_deleted_objects(objs, request)
        holders = User.objects.filter(groups__in=objs).order_by("username").values_list("username", flat=True)[:100]
        descriptions = [*map(str, objs), *(f"what it lets {name} do" for name in holders)]
        return descriptions, {"roles": len(objs), "operators who have it": len(holders)}, missing, protected


class DescribedPermission(Protocol):
    """A permission annotated with its model's name."""

    codename: str
    plural: str


class PermissionsField(ModelMultipleChoiceField):
    def label_from_instance(self, permission: DescribedPermission) -> str:
        return f"{permission.codename.partition('_')[0].capitalize()} {permission.plural}"
